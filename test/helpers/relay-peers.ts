import {randomUUID} from 'node:crypto';
import {once} from 'node:events';
import {onTestFinished} from 'vitest';
import {type ClientOptions, WebSocket} from 'ws';
import {
	decodeRelayFrame,
	encodeRelayFrame,
	type RelayBody,
	type RelayFrame,
} from '../../src/protocol/relay/relay-frame.js';
import {encodeRelayKey, type RelayKey} from '../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, type NoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {
	type ConnectBundle,
	type Registration,
	RegistryClient,
} from '../../src/transports/node/relay/registry-client.js';
import type {RunningHub} from './hubs.js';
import {eventually} from './processes.js';

/** A socket at a relay that does only what the test says. */
export class RelayPeer {
	readonly frames: RelayFrame[] = [];
	/** Settles with the close code. */
	readonly closed: Promise<number>;
	readonly socket: WebSocket;

	constructor(socket: WebSocket) {
		this.socket = socket;
		socket.on('message', data => this.frames.push(decodeRelayFrame(data as Buffer)));
		socket.on('error', () => {});
		this.closed = new Promise(resolve => socket.once('close', resolve));
		onTestFinished(() => socket.terminate());
	}

	send(streamId: string, body: RelayBody): void {
		this.socket.send(encodeRelayFrame({streamId, body}));
	}

	/** Claims a stream of its own. */
	claim(streamId: string = randomUUID()): string {
		this.send(streamId, {kind: 'resume', nextSeq: 0});
		return streamId;
	}

	/** Frames of one stream and kind so far. */
	of(streamId: string, kind: RelayBody['kind']): RelayFrame[] {
		return this.frames.filter(frame => frame.streamId === streamId && frame.body.kind === kind);
	}
}

/** Opens a socket; rejects with the status of a refusal in `status`. */
export async function openRelayPeer(url: string, options: ClientOptions = {}): Promise<RelayPeer> {
	const socket = new WebSocket(url, {perMessageDeflate: false, ...options});
	const refused = new Promise<never>((_resolve, reject) => {
		socket.on('unexpected-response', (_request, response) => {
			const reason = response.headers['x-codex-rendezvous-rejection-reason'];
			response.resume();
			socket.terminate();
			reject(Object.assign(new Error(`${response.statusCode} ${String(reason)}`), {status: response.statusCode}));
		});
	});
	const peer = new RelayPeer(socket);
	await Promise.race([once(socket, 'open'), refused]);
	return peer;
}

/** Status of an upgrade that is refused. */
export async function statusOfUpgrade(url: string): Promise<number> {
	const outcome = await openRelayPeer(url).catch((error: unknown) => error as {status?: number});
	return outcome instanceof RelayPeer ? 101 : (outcome.status ?? 0);
}

export function executorRegistry(hub: RunningHub, environmentId: string): RegistryClient {
	const {url, executorUrl = url, executorToken} = hub;
	return new RegistryClient({url: executorUrl, environmentId, token: () => executorToken});
}

export function clientRegistry({url, clientToken}: RunningHub, environmentId: string): RegistryClient {
	return new RegistryClient({url, environmentId, token: () => clientToken});
}

export interface ScriptedExecutor extends RelayPeer {
	readonly registration: Registration;
	readonly keys: NoiseKeys;
}

/** An executor that is online and serves nobody. */
export async function scriptedExecutor(
	hub: RunningHub,
	environmentId: string,
	keys = createNoiseKeys(nodeNoiseCrypto),
	options: ClientOptions = {},
	tenant?: string,
): Promise<ScriptedExecutor> {
	const registration = await executorRegistry(hub, environmentId).register(encodeRelayKey(publicKeysOf(keys)));
	const peer = await openRelayPeer(registration.url, options);
	const {registrationId} = registration;
	await eventually(() => hub.hub.relay.findExecutor(environmentId, tenant)?.registrationId === registrationId);
	return Object.assign(peer, {registration, keys});
}

/** A client that is connected and has claimed nothing. */
export async function scriptedHarness(
	hub: RunningHub,
	environmentId: string,
	options: ClientOptions = {},
): Promise<RelayPeer & {readonly bundle: ConnectBundle; readonly key: RelayKey}> {
	const key = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
	const bundle = await clientRegistry(hub, environmentId).connect(key);
	return Object.assign(await openRelayPeer(bundle.url, options), {bundle, key});
}
