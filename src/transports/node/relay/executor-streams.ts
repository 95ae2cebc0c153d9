import {DataFrames} from '../../../protocol/relay/data-frames.js';
import {REGISTRY_UNREACHABLE} from '../../../protocol/relay/refusal-reasons.js';
import {
	decodeRelayFrame,
	encodeRelayFrame,
	type RelayBody,
	type RelayFrame,
	RelayFrameError,
} from '../../../protocol/relay/relay-frame.js';
import {encodePrologue, encodeRelayKey, type RelayKey} from '../../../protocol/relay/relay-keys.js';
import {Semaphore} from '../../../shared/async/semaphore.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import type {Logger} from '../../../shared/logger.js';
import type {NoiseKeys} from '../../../shared/noise/hybrid-ik.js';
import {ChannelTransport, PROTOCOL_ERROR} from '../../relay/channel-transport.js';
import type {Transport} from '../../transport.js';
import {FailedHandshakes, HANDSHAKE_PAUSE_MS} from './failed-handshakes.js';
import {fingerprintOfKeys} from './known-executors.js';
import {allocateFrame, nodeMessageCodec} from './node-message-codec.js';
import {VALIDATE_TIMEOUT_MS} from './registry-client.js';
import {RegistryError} from './registry-errors.js';
import type {RendezvousSocket} from './rendezvous-socket.js';
import {handshakes, type RespondedHandshake} from './threads/handshakes.js';

/** Streams of one socket, validated or not. */
export const MAX_STREAMS = 128;
/** Clients that the registry is asked about at once; others wait. */
export const MAX_VALIDATIONS = 32;

/** A client that asks to be let in. */
export interface StreamCaller {
	readonly key: RelayKey;
	readonly authorization: string;
	readonly streamId: string;
}

/** Decision about a client. */
export type Admission =
	| {readonly kind: 'admitted'; readonly place?: {leave(): void} | undefined}
	/** The hub may know the client, and there is no room for it now. */
	| {readonly kind: 'refused'; readonly reason: string}
	/** With a reason that may be told, it is not asked about again. */
	| {readonly kind: 'stranger'; readonly reason?: string};

const STRANGER: Admission = {kind: 'stranger'};

export interface ExecutorStreamsOptions {
	readonly environmentId: string;
	readonly registrationId: string;
	readonly keys: NoiseKeys;
	/** Whether a client may enter. */
	readonly admit: (caller: StreamCaller) => Promise<Admission>;
	/** A client is in. */
	readonly accept: (transport: Transport, place?: {leave(): void}) => void;
	readonly logger: Logger;
}

/** The part of a rendezvous socket that streams use. */
type StreamSocket = Pick<RendezvousSocket, 'send' | 'beforeFlush' | 'backlog' | 'peer' | 'isAnswering'>;

/** The registry does not let the client in. */
class UnknownClientError extends Error {
	override readonly name = 'UnknownClientError';
	/** Told to the client. */
	readonly reason: string | undefined;

	constructor(reason: string | undefined) {
		super(reason ?? 'the registry does not know the client');
		this.reason = reason;
	}
}

/** The streams of an executor's rendezvous socket: each is a channel of its own, and all share the socket. */
export class ExecutorStreams {
	readonly #options: ExecutorStreamsOptions;
	readonly #socket: StreamSocket;
	/** Undefined while the client is being looked at. */
	readonly #streams = new Map<string, ChannelTransport | undefined>();
	readonly #validating = new Semaphore(MAX_VALIDATIONS);
	readonly #failures = new FailedHandshakes();

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
		if (this.#streams.has(streamId) || this.#streams.size >= MAX_STREAMS) return this.#reset(streamId);
		this.#streams.set(streamId, undefined);
		// Known once the handshake has proved it; a message that proves nothing is counted against nobody.
		let key: string | undefined;
		try {
			const responder = await this.#respond(streamId, message);
			key = fingerprintOfKeys(responder.initiator);
			if (this.#failures.isRefused(key)) return this.#refuse(streamId, PROTOCOL_ERROR);
			const admission = await this.#admit(streamId, responder);
			// The client may have left meanwhile.
			if (!this.#streams.has(streamId)) return leave(admission);
			if (admission.kind === 'stranger') throw new UnknownClientError(admission.reason);
			if (admission.kind === 'refused') return this.#refuse(streamId, admission.reason);
			this.#failures.clear(key);
			this.#begin(streamId, responder, admission.place);
		} catch (error) {
			this.#options.logger.info('a client was not let in', {stream: streamId, reason: (error as Error).message});
			// A registry that cannot be asked is no client's fault.
			if (key !== undefined && error instanceof UnknownClientError) this.#countFailure(key);
			if (this.#streams.delete(streamId)) this.#reset(streamId, reasonFor(error));
		}
	}

	#respond(streamId: string, message: Uint8Array): Promise<RespondedHandshake> {
		const {environmentId, registrationId, keys} = this.#options;
		const prologue = encodePrologue({environmentId, registrationId, streamId});
		return handshakes.respond({self: keys, prologue, message});
	}

	/** No fault of the client, so it does not count as a failed handshake. */
	#refuse(streamId: string, reason: string): void {
		this.#options.logger.info('a client was not let in', {stream: streamId, reason});
		if (this.#streams.delete(streamId)) this.#reset(streamId, reason);
	}

	async #admit(streamId: string, {initiator, payload}: RespondedHandshake): Promise<Admission> {
		const authorization = new TextDecoder('utf-8', {fatal: true}).decode(payload);
		return this.#validating.run(async () => {
			// The client may have left while others were looked at.
			if (!this.#streams.has(streamId)) return STRANGER;
			const admitted = this.#options.admit({key: encodeRelayKey(initiator), authorization, streamId});
			return withTimeout(admitted, VALIDATE_TIMEOUT_MS, () => {
				void admitted.then(leave, () => {});
				return STRANGER;
			});
		});
	}

	#begin(streamId: string, responder: RespondedHandshake, place: {leave(): void} | undefined): void {
		const {message, ciphers} = responder.answer();
		this.#send(streamId, {kind: 'handshake', payload: message});
		const socket = this.#socket;
		const records = new DataFrames(streamId, allocateFrame);
		const channel = new ChannelTransport(
			ciphers,
			{
				peer: `${socket.peer} stream ${streamId}`,
				get backlog() {
					return socket.backlog;
				},
				sendRecord: (seq, sealed) => socket.send(records.encode(seq, sealed)),
				beforeFlush: callback => socket.beforeFlush(callback),
				isAnswering: timeoutMs => socket.isAnswering(timeoutMs),
				end: reason => {
					if (this.#streams.delete(streamId)) this.#reset(streamId, reason);
				},
			},
			nodeMessageCodec,
		);
		this.#streams.set(streamId, channel);
		this.#options.accept(channel, place);
	}

	#countFailure(key: string): void {
		if (!this.#failures.add(key)) return;
		this.#options.logger.warn('too many failed handshakes: the key of this client is refused for a while', {
			key,
			ms: HANDSHAKE_PAUSE_MS,
		});
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

/** Reason that a client is told; undefined for the usual one. */
function reasonFor(error: unknown): string | undefined {
	if (error instanceof RegistryError) return REGISTRY_UNREACHABLE;
	return error instanceof UnknownClientError ? error.reason : undefined;
}

/** Gives back the place of a client that is not there any more. */
function leave(admission: Admission): void {
	if (admission.kind === 'admitted') admission.place?.leave();
}
