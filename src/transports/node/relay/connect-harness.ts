import {randomUUID} from 'node:crypto';
import {DataFrames} from '../../../protocol/relay/data-frames.js';
import {KEY_NOT_ALLOWED, REGISTRY_UNREACHABLE} from '../../../protocol/relay/refusal-reasons.js';
import {decodeRelayFrame, encodeRelayFrame, type RelayBody} from '../../../protocol/relay/relay-frame.js';
import {encodePrologue, encodeRelayKey} from '../../../protocol/relay/relay-keys.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {abortable, withTimeout} from '../../../shared/async/timeout.js';
import {errorMessage} from '../../../shared/errors.js';
import {nodeNoiseCrypto} from '../../../shared/node/node-noise-crypto.js';
import {NoiseInitiator, type NoiseKeys, publicKeysOf} from '../../../shared/noise/hybrid-ik.js';
import {ChannelTransport} from '../../relay/channel-transport.js';
import type {Transport} from '../../transport.js';
import {UnreachableError} from '../connect-web-socket.js';
import {PeerMonitor} from '../peer-monitor.js';
import {CLIENT_PEER_TIMES} from '../peer-times.js';
import {allocateFrame, nodeMessageCodec} from './node-message-codec.js';
import type {ConnectBundle} from './registry-client.js';
import {openRendezvous, type RendezvousOptions, RendezvousSocket} from './rendezvous-socket.js';

/** How long an executor may take to answer a handshake; it asks the registry about us meanwhile. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Refusals of our own executors for people; upstream has one text for all. */
const REFUSAL_TEXTS: Readonly<Record<string, string>> = {
	[REGISTRY_UNREACHABLE]: 'the machine cannot ask the hub about this client',
	[KEY_NOT_ALLOWED]: 'the machine does not let the key of this client in',
};

/** The executor does not let this client in, or has no room for it. */
export class HandshakeRefusedError extends Error {
	override readonly name = 'HandshakeRefusedError';
	/** As the executor gave it. */
	readonly reason: string | undefined;

	constructor(message: string, {reason, ...options}: ErrorOptions & {readonly reason?: string | undefined} = {}) {
		super(message, options);
		this.reason = reason;
	}
}

/** The socket was open, which uses up its ticket, and was lost before the executor has answered. */
export class HandshakeLostError extends UnreachableError {}

/** The executor has not answered the handshake in time, in upstream's words. */
class HandshakeTimeoutError extends UnreachableError {
	constructor() {
		super(`timed out waiting for exec-server initialize handshake after ${HANDSHAKE_TIMEOUT_MS / 1000}s`);
	}
}

export interface HarnessOptions extends RendezvousOptions {
	readonly environmentId: string;
	readonly keys: NoiseKeys;
	readonly bundle: ConnectBundle;
}

/** Opens one stream to an executor through a relay: one socket, one channel. */
export async function connectHarness(options: HarnessOptions): Promise<Transport> {
	const {environmentId, keys, bundle, signal} = options;
	const streamId = randomUUID();
	const identity = {environmentId, registrationId: bundle.registrationId, streamId};
	const initiator = new NoiseInitiator(nodeNoiseCrypto, {
		self: keys,
		responder: bundle.executorKey,
		prologue: encodePrologue(identity),
		payload: new TextEncoder().encode(bundle.authorization),
	});
	const webSocket = await openRendezvous(bundle.url, options);
	const stream = new HarnessStream(webSocket, identity);
	stream.sendBody({kind: 'resume', nextSeq: 0});
	stream.sendBody({kind: 'handshake', payload: initiator.message});
	try {
		const answer = withTimeout(stream.answer, HANDSHAKE_TIMEOUT_MS, () => {
			throw new HandshakeTimeoutError();
		});
		return stream.begin(initiator, await abortable(answer, signal));
	} catch (cause) {
		stream.destroy();
		if (signal?.aborted || cause instanceof HandshakeTimeoutError) throw cause;
		const text = `Noise harness handshake failed before connection became ready: ${errorMessage(cause)}`;
		throw cause instanceof HandshakeRefusedError
			? new HandshakeRefusedError(text, {cause, reason: cause.reason})
			: new HandshakeLostError(text, {cause});
	}
}

/** The public key we are known by. */
export function harnessKey(keys: NoiseKeys): ReturnType<typeof encodeRelayKey> {
	return encodeRelayKey(publicKeysOf(keys));
}

type OpenWebSocket = Awaited<ReturnType<typeof openRendezvous>>;

/** The only stream of a socket, before and after its handshake. */
class HarnessStream {
	readonly #streamId: string;
	readonly #answer = new Deferred<Uint8Array>();
	readonly #socket: RendezvousSocket;
	#channel: ChannelTransport | undefined;

	constructor(webSocket: OpenWebSocket, {environmentId, streamId}: {environmentId: string; streamId: string}) {
		this.#streamId = streamId;
		this.#answer.promise.catch(() => {});
		const events = {
			message: (bytes: Uint8Array): void => this.#receive(bytes),
			text: (): void => this.#fail(new Error('the relay sent text')),
			drained: (): void => this.#channel?.drained(),
			closed: (error?: Error): void => this.#end(error),
		};
		this.#socket = new RendezvousSocket(
			webSocket,
			`relay ${environmentId}`,
			events,
			new PeerMonitor(CLIENT_PEER_TIMES),
		);
	}

	/** Payload of the executor's handshake. */
	get answer(): Promise<Uint8Array> {
		return this.#answer.promise;
	}

	sendBody(body: RelayBody): void {
		this.#socket.send(encodeRelayFrame({streamId: this.#streamId, body}));
	}

	begin(initiator: NoiseInitiator, answer: Uint8Array): Transport {
		const socket = this.#socket;
		const records = new DataFrames(this.#streamId, allocateFrame);
		const channel = new ChannelTransport(
			initiator.finish(answer),
			{
				peer: socket.peer,
				get backlog() {
					return socket.backlog;
				},
				sendRecord: (seq, sealed) => socket.send(records.encode(seq, sealed)),
				beforeFlush: callback => socket.beforeFlush(callback),
				pause: () => socket.pause(),
				resume: () => socket.resume(),
				isAnswering: timeoutMs => socket.isAnswering(timeoutMs),
				unref: () => socket.unref(),
				end: reason => {
					if (reason !== undefined) this.sendBody({kind: 'reset', reason});
					socket.close();
				},
			},
			nodeMessageCodec,
		);
		this.#channel = channel;
		return channel;
	}

	destroy(): void {
		this.#socket.destroy();
	}

	/** Frames of other streams are skipped; anything against the rules ends the connection. */
	#receive(bytes: Uint8Array): void {
		let frame: ReturnType<typeof decodeRelayFrame>;
		try {
			frame = decodeRelayFrame(bytes);
		} catch (error) {
			return this.#fail(error as Error);
		}
		const {streamId, body} = frame;
		if (streamId !== this.#streamId) return;
		if (body.kind === 'reset') {
			const text = REFUSAL_TEXTS[body.reason] ?? 'Noise relay stream reset';
			this.#fail(new HandshakeRefusedError(text, {reason: body.reason}));
		} else if (body.kind === 'handshake' && !this.#channel) this.#answer.resolve(body.payload);
		else if (body.kind === 'data' && this.#channel) this.#channel.receive(body.seq, body.payload);
		else if (body.kind !== 'resume' && body.kind !== 'other') this.#fail(new Error('unexpected relay frame'));
	}

	#fail(error: Error): void {
		this.#end(error);
		this.#socket.destroy(error);
	}

	#end(error?: Error): void {
		this.#answer.reject(error ?? new Error('the relay closed the connection'));
		this.#channel?.ended(error);
	}
}
