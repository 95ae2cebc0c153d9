// covers: src/cli/commands/serve/credential-frames.ts, src/transports/node/relay/executor-link.ts
import {PassThrough} from 'node:stream';
import {expect, onTestFinished, test} from 'vitest';
import {readCredentialFrames} from '../../../../src/cli/commands/serve/credential-frames.js';
import {silentLogger} from '../../../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys} from '../../../../src/shared/noise/hybrid-ik.js';
import {ExecutorLink} from '../../../../src/transports/node/relay/executor-link.js';
import {RegistryClient} from '../../../../src/transports/node/relay/registry-client.js';
import {connectVia, runningHub} from '../../../helpers/hubs.js';
import {eventually} from '../../../helpers/processes.js';

const FAR = 4_000_000_000;
const line = (token: string, expiresAt = FAR): string =>
	`${JSON.stringify({version: 1, environment_id: 'devbox', token, expires_at: expiresAt})}\n`;

test('a later line replaces the token at once, in however many pieces it comes', async () => {
	const input = new PassThrough();
	input.write(line('first'));
	const credential = await readCredentialFrames(input, 'devbox');
	expect([credential.token(), credential.isScoped]).toEqual(['first', true]);
	for (const character of line('second')) input.write(character);
	await eventually(() => credential.token() === 'second');
	input.end();
	expect(await credential.over).toBe('exec-server executor credential pipe closed');
});

test('the next program goes on with the credential, and with the half of a line that was read', async () => {
	const input = new PassThrough();
	const next = line('second');
	input.write(line('first') + next.slice(0, 20));
	const first = await readCredentialFrames(input, 'devbox');
	const rest = new PassThrough();
	const second = await readCredentialFrames(rest, 'devbox', first.handOver());
	expect(second.token()).toBe('first');
	rest.write(next.slice(20));
	await eventually(() => second.token() === 'second');
});

test('a token that has expired lets no new client in, until another one comes', async () => {
	const hub = await runningHub();
	let isExpired = false;
	const token = (): string => {
		if (isExpired) throw new Error('exec-server executor credential is expired');
		return hub.executorToken;
	};
	const link = new ExecutorLink({
		registry: new RegistryClient({url: hub.url, environmentId: 'devbox', token, hidesBodies: true}),
		keys: createNoiseKeys(nodeNoiseCrypto),
		accept: () => {},
		logger: silentLogger,
	});
	void link.run();
	onTestFinished(() => link.close());
	await eventually(() => hub.hub.relay.findExecutor('devbox') !== undefined);
	const connect = connectVia(hub, 'devbox');
	isExpired = true;
	await expect(connect()).rejects.toThrow('the machine cannot ask the hub about this client');
	isExpired = false;
	(await connect()).destroy();
});

test('an expired credential is told as such', async () => {
	const input = new PassThrough();
	const state = {frame: {version: 1, environment_id: 'devbox', token: 't', expires_at: 1}, rest: ''} as const;
	const credential = await readCredentialFrames(input, 'devbox', state);
	expect(() => credential.token()).toThrow('exec-server executor credential is expired');
});
