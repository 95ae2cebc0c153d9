// covers: src/cli/commands/serve/registration-bearer.ts, src/cli/commands/serve/remote-credential.ts
import {PassThrough} from 'node:stream';
import {expect, test} from 'vitest';
import {readRegistrationBearer} from '../../src/cli/commands/serve/registration-bearer.js';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import {Command, run} from '../helpers/command.js';
import {environmentVia, runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {origin} from '../network/origin.js';

const MAX_BEARER_BYTES = 16 * 1024 - 1;
const TOO_LONG = 'expected a newline-terminated registration bearer of at most 16 KiB';
const INVALID = 'invalid registration bearer';

/** A server that reads a bearer from stdin, of a user with nothing remembered. */
function serveWithBearer(url: string, args: readonly string[] = [], command: readonly string[] = ['serve']): Command {
	const place = ['--remote', url, '--environment-id', 'devbox', '--log-format', 'json'];
	return new Command([...command, ...place, '--registration-bearer-stdin', ...args], {
		env: {XDG_STATE_HOME: scratchDirectory(), CODEX_API_KEY: 'not this one'},
	});
}

function inputWith(text: string): PassThrough {
	const input = new PassThrough();
	input.end(text);
	return input;
}

test.each([
	['a newline', 'bearer\n', 'bearer'],
	['CRLF', 'bearer\r\n', 'bearer'],
	['later lines', 'bearer\nother\n', 'bearer'],
	['quotes and backslashes', '"b\\e"\n', '"b\\e"'],
	['the greatest length', `${'b'.repeat(MAX_BEARER_BYTES)}\n`, 'b'.repeat(MAX_BEARER_BYTES)],
])('a bearer with %s is read', async (_kind, text, bearer) => {
	expect(await readRegistrationBearer(inputWith(text))).toBe(bearer);
});

test.each([
	['without a newline', 'bearer', TOO_LONG],
	['that never comes', '', TOO_LONG],
	['one byte too long', `${'b'.repeat(MAX_BEARER_BYTES + 1)}\n`, TOO_LONG],
	['that is empty', '\n', INVALID],
	['with nothing but CRLF', '\r\n', INVALID],
	['with a space', 'a b\n', INVALID],
	['with a space in front', ' ab\n', INVALID],
	['with a tab', 'a\tb\n', INVALID],
	['with a letter beyond ASCII', 'ä\n', INVALID],
])('a bearer %s is refused', async (_kind, text, message) => {
	await expect(readRegistrationBearer(inputWith(text))).rejects.toThrow(message);
});

test('a bearer is read in however many pieces it comes, and a line without an end is not waited for', async () => {
	const pieces = new PassThrough();
	const reading = readRegistrationBearer(pieces);
	for (const character of 'bearer\r\n') pieces.write(character);
	expect(await reading).toBe('bearer');
	const endless = new PassThrough();
	endless.write('b'.repeat(MAX_BEARER_BYTES + 1));
	await expect(readRegistrationBearer(endless)).rejects.toThrow(TOO_LONG);
});

test('a bearer registers and lets clients in, and neither later lines nor the end of stdin change that', async () => {
	const hub = await runningHub();
	const server = serveWithBearer(hub.url);
	server.child.stdin.write(`${hub.executorToken}\n`);
	await server.logs('"online"');
	const box = environmentVia(hub, 'devbox');
	expect((await box.shell('echo first')).stdout.text).toBe('first\n');
	server.child.stdin.write('another line\n'.repeat(100_000));
	await new Promise<void>(resolve => server.child.stdin.end(resolve));
	// Every client is asked about with the bearer.
	expect((await environmentVia(hub, 'devbox').shell('echo second')).stdout.text).toBe('second\n');
	expect(server.stderr).not.toContain(hub.executorToken);
	server.child.kill('SIGTERM');
	expect(await server.ended).toEqual({code: 0, signal: null});
});

test('the same bearer is sent when the executor registers again', async () => {
	const seen: (string | undefined)[] = [];
	const {url} = await origin((request, response) => {
		if (request.method !== 'POST') return void response.writeHead(401).end();
		seen.push(request.headers.authorization);
		const answer = {
			environment_id: 'devbox',
			url: `${url.replace(/^http/, 'ws')}/relay`,
			security_profile: 'noise_hybrid_ik_v1',
			executor_registration_id: 'registration-1',
		};
		response.end(JSON.stringify(answer));
	});
	const server = serveWithBearer(url);
	server.child.stdin.end('bearer-1\nbearer-2\n');
	await eventually(() => seen.length >= 3);
	expect(new Set(seen)).toEqual(new Set(['Bearer bearer-1']));
});

test('the end of stdin stops a server with a bearer that was asked to, even if it came with the bearer', async () => {
	const hub = await runningHub();
	const server = serveWithBearer(hub.url, ['--exit-on-stdin-close']);
	server.child.stdin.end(`${hub.executorToken}\n`);
	expect(await server.ended).toEqual({code: 0, signal: null});
});

test('a replaced server keeps its bearer', async () => {
	const hub = await runningHub();
	const server = serveWithBearer(hub.url, ['--state', scratchDirectory()]);
	server.child.stdin.write(`${hub.executorToken}\n`);
	await server.logs('"online"');
	server.child.kill('SIGUSR2');
	await server.logs('"upgraded"');
	expect((await environmentVia(hub, 'devbox').shell('echo after')).stdout.text).toBe('after\n');
});

test('serve forward takes a bearer as well', async () => {
	const hub = await runningHub();
	const behind = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
	const forward = serveWithBearer(hub.url, [], ['serve', 'forward', '--connect', await behind.url()]);
	forward.child.stdin.end(`${hub.executorToken}\n`);
	await forward.logs('"online"');
	expect((await environmentVia(hub, 'devbox').shell('echo forwarded')).stdout.text).toBe('forwarded\n');
});

test.each(['plain', 'with"quotes\\and-backslashes'])(
	'an answer that contains the bearer %s is refused',
	async token => {
		const {url} = await origin((_request, response) => {
			const answer = {
				environment_id: 'devbox',
				url: 'ws://127.0.0.1:1/relay',
				security_profile: 'noise_hybrid_ik_v1',
				executor_registration_id: `registration of ${token}`,
			};
			response.end(JSON.stringify(answer));
		});
		const client = new RegistryClient({url, environmentId: 'devbox', token: () => token, hidesBodies: true});
		const key = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
		await expect(client.register(key)).rejects.toThrow('invalid environment registry executor registration response');
	},
);

const PLACE = ['--remote', 'http://127.0.0.1:1', '--environment-id', 'a', '--registration-bearer-stdin'];
const EXCLUDED = "the argument '--registration-bearer-stdin' cannot be used with";

test.each<[string[], number, string]>([
	[['serve', '--registration-bearer-stdin'], 2, '--registration-bearer-stdin goes with --remote'],
	[['serve', ...PLACE, '--executor-credential-stdin'], 2, `${EXCLUDED} '--executor-credential-stdin'`],
	[['serve', ...PLACE, '--listen', 'stdio'], 2, `${EXCLUDED} '--listen stdio'`],
	[
		['serve', 'forward', '--connect', 'ws://127.0.0.1:1', ...PLACE, '--executor-credential-stdin'],
		2,
		`${EXCLUDED} '--executor-credential-stdin'`,
	],
	[
		['serve', '--remote', 'http://hub.example', '--environment-id', 'a', '--registration-bearer-stdin'],
		1,
		'remote transport requires https for non-loopback endpoints',
	],
])('longarm %j is refused', async (args, code, text) => {
	const refused = await run(args, {XDG_STATE_HOME: scratchDirectory()});
	expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(text)]);
});
