import {decodeRelayFrame, encodeRelayFrame, type RelayBody} from '../../protocol/relay/relay-frame.js';
import {decodeRelayKey, encodePrologue} from '../../protocol/relay/relay-keys.js';
import {Deferred} from '../../shared/async/deferred.js';
import {withTimeout} from '../../shared/async/timeout.js';
import {findMostCommon} from '../../shared/fair-share.js';
import {nodeNoiseCrypto} from '../../shared/node/node-noise-crypto.js';
import {createNoiseKeys, type NoiseKeys} from '../../shared/noise/hybrid-ik.js';
import {HANDSHAKE_TIMEOUT_MS, harnessKey} from '../../transports/node/relay/connect-harness.js';
import {handshakes} from '../../transports/node/relay/threads/handshakes.js';
import {PROTOCOL_ERROR} from '../../transports/relay/channel-transport.js';
import type {RegistryService} from '../registry/registry-service.js';
import type {JoiningEnd} from './relay.js';
import type {RelaySocket} from './relay-ends.js';
import {createReservedStreamId} from './stream-ids.js';

/** Sockets of one registration that have not proved its key yet; another one closes the oldest. */
export const MAX_UNPROVEN_PER_REGISTRATION = 8;
/** Sockets of all registrations that have not proved a key yet; each costs a handshake. */
export const MAX_UNPROVEN = 512;
/** Close code of WebSocket. */
const GOING_AWAY = 1001;

/** A socket that was opened with the ticket of an executor, which others may have read. */
export interface UnprovenExecutor {
	readonly ticket: JoiningEnd;
	/** Address of the machine at the other end; of several addresses that use one ticket, none can crowd out the others. */
	readonly address: string;
	readonly socket: Pick<RelaySocket, 'send' | 'close' | 'destroy'>;
}

interface Candidate extends UnprovenExecutor {
	readonly streamId: string;
	readonly answer: Deferred<Uint8Array>;
}

/**
 * Lets executors prove that they have the key they registered. The hub plays a client on the executor's own socket: only the
 * owner of the key can answer its handshake. The stream is reset then, so that the executor forgets it.
 */
export class ExecutorProofs {
	readonly #service: RegistryService;
	/** Oldest first. */
	readonly #candidates = new Set<Candidate>();
	#keys: NoiseKeys | undefined;
	#isClosed = false;

	constructor(service: RegistryService) {
		this.#service = service;
	}

	/** Begins a proof; the executor's messages have to be passed on until it is over. */
	begin(executor: UnprovenExecutor): ExecutorProof {
		const candidate = {...executor, streamId: createReservedStreamId(), answer: new Deferred<Uint8Array>()};
		candidate.answer.promise.catch(() => {});
		this.#makeRoom(candidate);
		this.#candidates.add(candidate);
		return {
			succeeded: this.#run(candidate),
			receive: bytes => receive(candidate, bytes),
			abandon: () => candidate.answer.reject(new Error('the socket was closed')),
		};
	}

	/** Closes all sockets that have not proved their key. */
	close(): void {
		this.#isClosed = true;
		for (const {socket} of this.#candidates) socket.close(GOING_AWAY);
	}

	#makeRoom({ticket}: Candidate): void {
		const rivals = [...this.#candidates].filter(each => each.ticket.registrationId === ticket.registrationId);
		const crowd = rivals.length >= MAX_UNPROVEN_PER_REGISTRATION ? rivals : [...this.#candidates];
		if (crowd.length < MAX_UNPROVEN && crowd !== rivals) return;
		const oldest = findMostCommon(crowd, ({address}) => address);
		if (!oldest) return;
		this.#candidates.delete(oldest);
		// At once: its peer may be one that never answers to a close.
		oldest.socket.destroy(new Error('too many sockets have not proved their keys'));
	}

	async #run(candidate: Candidate): Promise<boolean> {
		try {
			await this.#prove(candidate);
			return !this.#isClosed;
		} catch {
			return false;
		} finally {
			this.#candidates.delete(candidate);
		}
	}

	async #prove({ticket, streamId, answer, socket}: Candidate): Promise<void> {
		this.#keys ??= createNoiseKeys(nodeNoiseCrypto);
		const {environmentId, registrationId} = ticket;
		const challenge = await this.#service.challenge(ticket, registrationId, harnessKey(this.#keys));
		try {
			const initiator = await handshakes.begin({
				self: this.#keys,
				responder: decodeRelayKey(challenge.registration.key),
				prologue: encodePrologue({environmentId, registrationId, streamId}),
				payload: new TextEncoder().encode(challenge.authorization),
			});
			const send = (body: RelayBody): void => socket.send(encodeRelayFrame({streamId, body}));
			send({kind: 'resume', nextSeq: 0});
			send({kind: 'handshake', payload: initiator.message});
			const payload = await withTimeout(answer.promise, HANDSHAKE_TIMEOUT_MS, () => {
				throw new Error('the executor does not answer');
			});
			await initiator.finish(payload);
			send({kind: 'reset', reason: PROTOCOL_ERROR});
		} finally {
			await challenge.withdraw();
		}
	}
}

/** A proof that is under way. */
export interface ExecutorProof {
	/** Whether the executor has proved its key; never rejects. */
	readonly succeeded: Promise<boolean>;
	/** A message of the executor; all but the answer to the handshake are dropped. */
	receive(bytes: Uint8Array): void;
	/** The socket is gone. */
	abandon(): void;
}

function receive({streamId, answer}: Candidate, bytes: Uint8Array): void {
	let frame: ReturnType<typeof decodeRelayFrame>;
	try {
		frame = decodeRelayFrame(bytes);
	} catch {
		return;
	}
	if (frame.streamId !== streamId) return;
	if (frame.body.kind === 'handshake') answer.resolve(frame.body.payload);
	else if (frame.body.kind === 'reset') answer.reject(new Error('the executor has refused the handshake'));
}
