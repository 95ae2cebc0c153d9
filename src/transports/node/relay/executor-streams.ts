import {
	decodeRelayFrame,
	encodeRelayFrame,
	type RelayBody,
	type RelayFrame,
	RelayFrameError,
} from '../../../protocol/relay/relay-frame.js';
import {encodePrologue, encodeRelayKey, type RelayKey} from '../../../protocol/relay/relay-keys.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import type {Logger} from '../../../shared/logger.js';
import {nodeNoiseCrypto} from '../../../shared/node/node-noise-crypto.js';
import {type NoiseKeys, NoiseResponder} from '../../../shared/noise/hybrid-ik.js';
import {ChannelTransport, PROTOCOL_ERROR} from '../../relay/channel-transport.js';
import type {Transport} from '../../transport.js';
import {nodeMessageCodec} from './node-message-codec.js';
import {VALIDATE_TIMEOUT_MS} from './registry-client.js';
import type {RendezvousSocket} from './rendezvous-socket.js';

/** Streams of one socket, validated or not. */
export const MAX_STREAMS = 128;
/** Clients that the registry is asked about at once. */
export const MAX_VALIDATIONS = 32;
/** Failed handshakes in a row after which new ones are refused for a while. */
export const MAX_FAILED_HANDSHAKES = 8;
export const HANDSHAKE_PAUSE_MS = 10_000;

/** A client that asks to be let in. */
export interface StreamCaller {
	readonly key: RelayKey;
	readonly authorization: string;
	readonly streamId: string;
}

export interface ExecutorStreamsOptions {
	readonly environmentId: string;
	readonly registrationId: string;
	readonly keys: NoiseKeys;
	/** Whether a client may enter. */
	readonly admit: (caller: StreamCaller) => Promise<boolean>;
	/** A client is in. */
	readonly accept: (transport: Transport) => void;
	readonly logger: Logger;
}

/** The part of a rendezvous socket that streams use. */
type StreamSocket = Pick<RendezvousSocket, 'send' | 'backlog' | 'peer' | 'isAnswering'>;

/** The streams of an executor's rendezvous socket: each is a channel of its own, and all share the socket. */
export class ExecutorStreams {
	readonly #options: ExecutorStreamsOptions;
	readonly #socket: StreamSocket;
	/** Undefined while the client is being looked at. */
	readonly #streams = new Map<string, ChannelTransport | undefined>();
	#validations = 0;
	#failures = 0;
	#refusesUntil = 0;

	constructor(socket: StreamSocket, options: ExecutorStreamsOptions) {
		this.#socket = socket;
		this.#options = options;
	}

	/** Streams that clients use. */
	get size(): number {
		return this.#streams.size;
	}

	/** One message of the relay; anything that is no frame is dropped, as upstream does. */
	receive(bytes: Uint8Array): void {
		let frame: RelayFrame;
		try {
			frame = decodeRelayFrame(bytes);
		} catch (error) {
			if (error instanceof RelayFrameError) return;
			throw error;
		}
		const {streamId, body} = frame;
		if (body.kind === 'handshake') void this.#handshake(streamId, body.payload);
		else if (body.kind === 'data') this.#receiveData(streamId, body.seq, body.payload);
		else if (body.kind === 'reset') this.#forget(streamId, new Error('Noise relay stream reset'));
	}

	drained(): void {
		for (const channel of this.#streams.values()) channel?.drained();
	}

	/** The socket is gone: sessions wait for their clients. */
	close(error?: Error): void {
		for (const streamId of this.#streams.keys()) this.#forget(streamId, error);
	}

	#receiveData(streamId: string, seq: number, payload: Uint8Array): void {
		const channel = this.#streams.get(streamId);
		if (channel) channel.receive(seq, payload);
		else if (!this.#streams.has(streamId)) this.#reset(streamId);
	}

	/** A second handshake is refused and leaves the stream alone: it may be a stranger's. */
	async #handshake(streamId: string, message: Uint8Array): Promise<void> {
		const isBusy = this.#streams.size >= MAX_STREAMS || this.#validations >= MAX_VALIDATIONS;
		if (this.#streams.has(streamId) || isBusy || performance.now() < this.#refusesUntil) return this.#reset(streamId);
		this.#streams.set(streamId, undefined);
		try {
			const responder = this.#respond(streamId, message);
			if (!(await this.#isAdmitted(streamId, responder))) throw new Error('the registry does not know the client');
			// The client may have left meanwhile.
			if (!this.#streams.has(streamId)) return;
			this.#failures = 0;
			this.#begin(streamId, responder);
		} catch (error) {
			this.#options.logger.info('a client was not let in', {stream: streamId, reason: (error as Error).message});
			this.#countFailure();
			if (this.#streams.delete(streamId)) this.#reset(streamId);
		}
	}

	#respond(streamId: string, message: Uint8Array): NoiseResponder {
		const {environmentId, registrationId, keys} = this.#options;
		const prologue = encodePrologue({environmentId, registrationId, streamId});
		return new NoiseResponder(nodeNoiseCrypto, {self: keys, prologue, message});
	}

	async #isAdmitted(streamId: string, {initiator, payload}: NoiseResponder): Promise<boolean> {
		const authorization = new TextDecoder('utf-8', {fatal: true}).decode(payload);
		this.#validations++;
		try {
			const admitted = this.#options.admit({key: encodeRelayKey(initiator), authorization, streamId});
			return await withTimeout(admitted, VALIDATE_TIMEOUT_MS, () => false);
		} finally {
			this.#validations--;
		}
	}

	#begin(streamId: string, responder: NoiseResponder): void {
		const {message, ciphers} = responder.answer();
		this.#send(streamId, {kind: 'handshake', payload: message});
		const socket = this.#socket;
		const channel = new ChannelTransport(
			ciphers,
			{
				peer: `${socket.peer} stream ${streamId}`,
				get backlog() {
					return socket.backlog;
				},
				sendRecord: (seq, payload) => this.#send(streamId, {kind: 'data', seq, payload}),
				isAnswering: timeoutMs => socket.isAnswering(timeoutMs),
				end: reason => {
					if (this.#streams.delete(streamId)) this.#reset(streamId, reason);
				},
			},
			nodeMessageCodec,
		);
		this.#streams.set(streamId, channel);
		this.#options.accept(channel);
	}

	#countFailure(): void {
		if (++this.#failures < MAX_FAILED_HANDSHAKES) return;
		this.#failures = 0;
		this.#refusesUntil = performance.now() + HANDSHAKE_PAUSE_MS;
		this.#options.logger.warn('too many failed handshakes: new ones are refused for a while', {ms: HANDSHAKE_PAUSE_MS});
	}

	#forget(streamId: string, error?: Error): void {
		const channel = this.#streams.get(streamId);
		this.#streams.delete(streamId);
		channel?.ended(error);
	}

	#reset(streamId: string, reason = PROTOCOL_ERROR): void {
		this.#send(streamId, {kind: 'reset', reason});
	}

	#send(streamId: string, body: RelayBody): void {
		this.#socket.send(encodeRelayFrame({streamId, body}));
	}
}
