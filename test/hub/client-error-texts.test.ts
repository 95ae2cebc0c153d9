// covers: src/transports/node/relay/connect-harness.ts, src/transports/node/relay/registry-client.ts, src/transports/node/relay/rendezvous-socket.ts
// Texts that a client tells when it cannot reach an executor, as upstream's does.
import {once} from 'node:events';
import {expect, onTestFinished, test, vi} from 'vitest';
import {type WebSocket, WebSocketServer} from 'ws';
import {decodeRelayFrame, encodeRelayFrame} from '../../src/protocol/relay/relay-frame.js';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import {listRegistry} from '../../src/transports/node/relay/registry-listing.js';
import {connectVia} from '../helpers/hubs.js';
import {origin} from '../network/origin.js';

const KEY = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
const HANDSHAKE = 'Noise harness handshake failed before connection became ready:';
const INVALID_KEY = `${HANDSHAKE} failed to start Noise relay handshake: invalid Noise channel public key:`;

/** A registry whose answers to `connect` the test decides, and a relay that hands sockets to it; refuses them by default. */
class ScriptedRegistry {
	readonly url: string;
	answer: readonly [status: number, body: string] = [200, ''];
	onSocket: ((socket: WebSocket) => void) | undefined;

	private constructor(url: string) {
		this.url = url;
	}

	static async open(): Promise<ScriptedRegistry> {
		const {url, server} = await origin((_request, response) => {
			response.writeHead(registry.answer[0]).end(registry.answer[1]);
		});
		const registry = new ScriptedRegistry(url);
		const sockets = new WebSocketServer({noServer: true});
		server.on('upgrade', (request, socket, head) => {
			if (registry.onSocket) sockets.handleUpgrade(request, socket, head, registry.onSocket);
			else socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n');
		});
		onTestFinished(() => {
			for (const socket of sockets.clients) socket.terminate();
		});
		return registry;
	}

	/** Answers `connect` with everything a client needs, and some of it changed. */
	grant(more: object = {}): void {
		const bundle = {
			environment_id: 'devbox',
			url: `${this.url.replace('http', 'ws')}/relay?role=harness&sig=secret`,
			security_profile: 'noise_hybrid_ik_v1',
			executor_registration_id: 'registration-1',
			executor_public_key: KEY,
			harness_key_authorization: 'authorization-1',
			...more,
		};
		this.answer = [200, JSON.stringify(bundle)];
	}

	async failure(): Promise<string> {
		const connect = connectVia({url: this.url, clientToken: 'token'}, 'devbox');
		const outcome = await connect().catch((error: unknown) => error);
		return outcome instanceof Error ? outcome.message : 'it has connected';
	}
}

const ANSWERS: readonly [name: string, change: object, text: string][] = [
	[
		'without a ticket',
		{url: ' '},
		'exec-server protocol error: environment registry returned incomplete Noise connection data',
	],
	[
		'without an authorization',
		{harness_key_authorization: ''},
		'exec-server protocol error: environment registry returned incomplete Noise connection data',
	],
	[
		'for another environment',
		{environment_id: 'other'},
		'exec-server protocol error: environment registry returned a different environment id',
	],
	[
		'with another profile',
		{security_profile: 'none'},
		'exec-server protocol error: environment registry returned unsupported security profile `none`',
	],
	[
		'with a key of another suite',
		{executor_public_key: {...KEY, suite: 'x'}},
		`${INVALID_KEY} unsupported Noise channel suite`,
	],
	[
		'with a key that is too short',
		{executor_public_key: {...KEY, mlkem768_public_key: 'AAAA'}},
		`${INVALID_KEY} invalid ML-KEM-768 public key length`,
	],
];

test.each(ANSWERS)('an answer %s is told in known words', async (_name, change, text) => {
	const registry = await ScriptedRegistry.open();
	registry.grant(change);
	expect(await registry.failure()).toBe(text);
});

test('refusals of the registry and a missing member are told in known words', async () => {
	const registry = await ScriptedRegistry.open();
	registry.answer = [409, '{"error":{"code":"route_unavailable","message":"gone"}}'];
	expect(await registry.failure()).toBe('environment registry request failed (409 Conflict, route_unavailable): gone');
	registry.answer = [403, ''];
	expect(await registry.failure()).toBe(
		'environment registry authentication error: environment registry authentication failed (403 Forbidden): empty error body',
	);
	registry.answer = [200, '{"environment_id":"devbox"}'];
	expect(await registry.failure()).toBe(
		'failed to serialize or deserialize exec-server JSON: missing field `url` at line 1 column 27',
	);
});

test('a refused ticket is told without its query', async () => {
	const registry = await ScriptedRegistry.open();
	registry.grant();
	const place = `${registry.url.replace('http', 'ws')}/relay`;
	expect(await registry.failure()).toBe(
		`failed to connect to exec-server websocket \`${place}\`: HTTP error: 401 Unauthorized`,
	);
});

test('a stream that is reset during the handshake is told in known words', async () => {
	const registry = await ScriptedRegistry.open();
	registry.grant();
	registry.onSocket = socket => {
		socket.once('message', data => {
			const {streamId} = decodeRelayFrame(data as Buffer);
			socket.send(encodeRelayFrame({streamId, body: {kind: 'reset', reason: 'noise_relay_protocol_error'}}));
		});
	};
	expect(await registry.failure()).toBe(`${HANDSHAKE} Noise relay stream reset`);
});

test('a handshake that is not answered is told in known words', async () => {
	const registry = await ScriptedRegistry.open();
	registry.grant();
	const joined = new Promise<WebSocket>(resolve => {
		registry.onSocket = resolve;
	});
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
	onTestFinished(() => void vi.useRealTimers());
	const failure = registry.failure();
	const socket = await joined;
	await once(socket, 'message');
	await vi.advanceTimersByTimeAsync(10_000);
	expect(await failure).toBe('timed out waiting for exec-server initialize handshake after 10s');
});

test('a token is not sent over plain http to another machine, by a client or by a machine', async () => {
	const text = 'environment registry configuration error: remote transport requires https for non-loopback endpoints';
	for (const url of [
		'http://192.0.2.1:8700',
		'http://[2001:db8::1]:8700',
		'http://hub.example',
		'http://127.0.0.1.example',
	]) {
		const registry = new RegistryClient({url, environmentId: 'devbox', token: () => 'token'});
		await expect(registry.connect(KEY)).rejects.toThrow(text);
		await expect(registry.register(KEY)).rejects.toThrow(text);
		await expect(listRegistry(url, {token: () => 'token'})).rejects.toThrow(text);
	}
});
