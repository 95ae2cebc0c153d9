// covers: src/cli/commands/hub, src/hub/control-socket.ts
import {copyFileSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {connect} from 'node:tls';
import {expect, test} from 'vitest';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import {Authority} from '../helpers/certificates.js';
import {Command, run} from '../helpers/command.js';
import {runningExecutor} from '../helpers/hubs.js';
import {needs} from '../helpers/needs.js';
import {openRelayPeer} from '../helpers/relay-peers.js';
import {scratchDirectory} from '../helpers/scratch.js';

async function createToken(data: string, kind: string, pattern: string): Promise<string> {
	const {code, stdout, stderr} = await run(['hub', 'token', 'create', kind, pattern, '--data', data]);
	expect([code, stderr]).toEqual([0, '']);
	expect(stdout).toMatch(/^lh[ec]_[\w-]{43}\n$/);
	return stdout.trim();
}

test('a hub prints its address alone, takes tokens made while it runs, and lists its machines', async () => {
	const data = scratchDirectory();
	const hub = new Command(['hub', '--listen', 'http://127.0.0.1:0', '--data', data]);
	const url = await hub.url();
	expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
	expect(hub.stdout).toBe(`${url}\n`);
	const executorToken = await createToken(data, 'executor', 'devbox');
	await createToken(data, 'client', 'dev*');
	await runningExecutor({url, executorToken}, 'devbox');
	const listed = await run(['hub', 'ls', '--json', '--data', data]);
	expect(JSON.parse(listed.stdout)).toMatchObject([{id: 'devbox', isOnline: true, streams: 0}]);
	expect((await run(['hub', 'ls', '--data', data])).stdout).toMatch(
		/^devbox +online +sha256:\S+ +for \S+, 0 clients\n$/,
	);
	hub.child.kill('SIGTERM');
	expect(await hub.ended).toEqual({code: 0, signal: null});
	const {code, stderr} = await run(['hub', 'ls', '--data', data]);
	expect([code, stderr]).toMatchObject([1, expect.stringContaining(`no hub that uses ${data} answers`)]);
});

test('tokens are listed without their secrets, and a revoked one is gone', async () => {
	const data = scratchDirectory();
	const token = await createToken(data, 'client', 'dev*');
	const list = async (): Promise<{id: string; kind: string; pattern: string}[]> =>
		JSON.parse((await run(['hub', 'token', 'list', '--json', '--data', data])).stdout) as never;
	const [entry] = await list();
	expect(entry).toMatchObject({kind: 'client', pattern: 'dev*'});
	expect(readFileSync(join(data, 'tokens.jsonl'), 'utf8')).not.toContain(token);
	expect((await run(['hub', 'token', 'revoke', entry!.id, '--data', data])).code).toBe(0);
	expect(await list()).toEqual([]);
	const again = await run(['hub', 'token', 'revoke', entry!.id, '--data', data]);
	expect([again.code, again.stderr]).toEqual([1, expect.stringContaining(`there is no token ${entry!.id}`)]);
});

test('the directory is below the directory for state by default', async () => {
	const home = scratchDirectory();
	const {code} = await run(['hub', 'token', 'create', 'client', '*'], {XDG_STATE_HOME: home});
	expect(code).toBe(0);
	expect(readFileSync(join(home, 'longarm', 'hub', 'tokens.jsonl'), 'utf8')).toContain('"kind":"client"');
});

test.each([
	[['--listen', 'ws://127.0.0.1:0'], 'expected http://IP:PORT or https://IP:PORT'],
	[['--listen', 'https://127.0.0.1:0'], '--tls-cert and --tls-key go together'],
	[['--public-url', 'hub.example'], '--public-url `hub.example`'],
	[['--log-level', 'loud'], '--log-level is one of'],
	[['--log-format', 'xml'], '--log-format is one of'],
	[['--frobnicate'], 'see longarm hub --help'],
	[['token'], 'see longarm hub token --help'],
	[['token', 'create', 'client'], 'see longarm hub token create --help'],
	[['token', 'create', 'admin', '*'], 'not for `admin`'],
	[['token', 'create', 'client', 'a b'], 'is no pattern'],
])('hub %j is a wrong command line', async (args, message) => {
	const data = args[0] === 'token' && args.length < 4 ? [] : ['--data', scratchDirectory()];
	const {code, stdout, stderr} = await run(['hub', ...args, ...data]);
	expect([code, stdout]).toEqual([2, '']);
	expect(stderr).toContain(message);
});

test('a second hub on the same directory is refused', async () => {
	const data = scratchDirectory();
	const args = ['hub', '--listen', 'http://127.0.0.1:0', '--data', data];
	await new Command(args).url();
	const {code, stderr} = await run(args);
	expect([code, stderr]).toEqual([1, expect.stringContaining(data)]);
});

test(
	'SIGHUP reads the certificate again, and one that cannot be used leaves the old one',
	needs('openssl'),
	async () => {
		const authority = new Authority();
		const directory = scratchDirectory();
		const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
		const put = (name: string): void => {
			const issued = authority.issue(name);
			copyFileSync(issued.certPath, cert);
			copyFileSync(issued.keyPath, key);
		};
		put('first');
		const tls = ['--tls-cert', cert, '--tls-key', key];
		const hub = new Command(['hub', '--listen', 'https://127.0.0.1:0', '--data', join(directory, 'data'), ...tls]);
		const port = Number(new URL(await hub.url()).port);
		const name = (): Promise<string> =>
			new Promise((resolve, reject) => {
				const socket = connect({host: '127.0.0.1', port, ca: authority.ca}, () => {
					resolve(String(socket.getPeerCertificate().subject.CN));
					socket.destroy();
				});
				socket.on('error', reject);
			});
		expect(await name()).toBe('first');
		put('second');
		hub.child.kill('SIGHUP');
		await hub.logs('"reloaded"');
		expect(await name()).toBe('second');
		copyFileSync(cert, key);
		hub.child.kill('SIGHUP');
		await hub.logs('cannot reload');
		expect(await name()).toBe('second');
	},
);

test('with --public-url tickets lead there', async () => {
	const data = scratchDirectory();
	const listen = ['--listen', 'http://127.0.0.1:0', '--data', data];
	const hub = new Command([
		'hub',
		...listen,
		'--public-url',
		'https://hub.example/base/',
		'--allow-host',
		'hub.example',
	]);
	const url = await hub.url();
	const token = await createToken(data, 'executor', '*');
	const registry = new RegistryClient({url, environmentId: 'devbox', token: () => token});
	const registration = await registry.register(encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto))));
	expect(registration.url).toMatch(/^wss:\/\/hub\.example\/base\/relay\?role=environment&/);
	await openRelayPeer(registration.url.replace('wss://hub.example/base', url.replace('http', 'ws')));
});
