// covers: src/cli/commands/env/env-edit.ts, src/cli/commands/hub/hub-command.ts, src/cli/commands/serve/serve-remote.ts, src/transports/node/relay/known-executors.ts, src/transports/node/tls-trust.ts
import {chmodSync, mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {requireKnownExecutor} from '../../src/transports/node/relay/known-executors.js';
import {createSelfSigned} from '../../src/transports/node/self-signed-certificate.js';
import {run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';

test('env add refuses a token file that others can read', async () => {
	const directory = scratchDirectory();
	const path = join(directory, 'token');
	writeFileSync(path, 'lhc_secret\n', {mode: 0o644});
	const args = ['env', 'add', 'devbox', 'registry+https://hub.example/devbox', '--token-file', path];
	const {code, stderr} = await run(args, {CODEX_HOME: directory});
	expect([code, stderr]).toMatchObject([2, expect.stringContaining('open to others; try chmod 600')]);
	expect(stderr).not.toContain('lhc_secret');
});

test('a hub refuses a key of its certificate that others can read', async () => {
	const directory = scratchDirectory();
	const {cert, key} = createSelfSigned(['127.0.0.1']);
	const [certPath, keyPath] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
	writeFileSync(certPath, cert);
	writeFileSync(keyPath, key, {mode: 0o644});
	const files = ['--tls-cert', certPath, '--tls-key', keyPath, '--data', join(directory, 'hub')];
	const {code, stderr} = await run(['hub', '--listen', 'https://127.0.0.1:0', ...files]);
	expect([code, stderr]).toMatchObject([1, expect.stringContaining('open to others; try chmod 600')]);
});

test('known executors that others can write to are not trusted', () => {
	const home = scratchDirectory();
	vi.stubEnv('XDG_STATE_HOME', home);
	onTestFinished(() => void vi.unstubAllEnvs());
	const keys = publicKeysOf(createNoiseKeys(nodeNoiseCrypto));
	mkdirSync(join(home, 'longarm'), {recursive: true});
	requireKnownExecutor('https://hub.example/devbox', keys, undefined);
	chmodSync(join(home, 'longarm', 'known-executors'), 0o666);
	expect(() => requireKnownExecutor('https://hub.example/devbox', keys, undefined)).toThrow('writable by others');
});

test.each(['--allow-harness-key', '--remote-ca-file'])(
	'serve --remote refuses %s FILE that others can write to',
	async option => {
		const directory = scratchDirectory();
		const [trusted, token] = [join(directory, 'trusted'), join(directory, 'token')];
		writeFileSync(token, 'lhc_secret', {mode: 0o600});
		writeFileSync(trusted, option === '--remote-ca-file' ? createSelfSigned(['127.0.0.1']).cert : '');
		chmodSync(trusted, 0o666);
		const place = ['--remote', 'https://127.0.0.1:9', '--environment-id', 'devbox', '--token-file', token];
		const {code, stderr} = await run(['serve', ...place, option, trusted], {XDG_STATE_HOME: directory});
		expect([code, stderr]).toMatchObject([expect.any(Number), expect.stringContaining('writable by others')]);
		expect(code).not.toBe(0);
	},
);
