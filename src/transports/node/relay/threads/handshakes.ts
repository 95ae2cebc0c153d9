import {randomBytes} from 'node:crypto';
import {nodeNoiseCrypto} from '../../../../shared/node/node-noise-crypto.js';
import {
	type HandshakeAnswer,
	HandshakeError,
	type InitiatorOptions,
	NoiseInitiator,
	type NoiseKeys,
	type NoisePublicKeys,
	NoiseResponder,
	type ResponderOptions,
} from '../../../../shared/noise/hybrid-ik.js';
import {DH_SEED_BYTES, KEM_SEED_BYTES} from '../../../../shared/noise/noise-crypto.js';
import {type ChannelCiphers, toChannelCiphers} from '../../../../shared/noise/symmetric-state.js';
import type {HandshakeThreads} from './handshake-threads.js';
import type {HandshakeResult, HandshakeWork, SeedPair} from './handshake-work.js';

/** Handshakes that wait for their turn here; with more of them threads take all. */
export const MAX_WAITING_HANDSHAKES = 3;
/** Handshakes that wait for a thread; further ones are refused. */
export const MAX_QUEUED_HANDSHAKES = 1024;

/** A first message that was read, of which nobody knows yet whether it is admitted. */
export interface RespondedHandshake {
	readonly initiator: NoisePublicKeys;
	readonly payload: Uint8Array;
	answer(): HandshakeAnswer;
}

export interface BegunHandshake {
	readonly message: Uint8Array;
	finish(answer: Uint8Array): ChannelCiphers | Promise<ChannelCiphers>;
}

interface Turn {
	readonly here: () => unknown;
	readonly elsewhere: () => Promise<unknown>;
	readonly resolve: (result: unknown) => void;
	readonly reject: (error: unknown) => void;
}

/**
 * Handshakes cost milliseconds each. A few are done here, one per turn of the event loop; when many come at once they go to
 * threads, which are loaded then.
 */
export class Handshakes {
	readonly #waiting: Turn[] = [];
	#threads: HandshakeThreads | undefined;
	#hasTurn = false;

	/** Reads a first message; rejects with a `HandshakeError` if it is not for this key and prologue. */
	respond(options: Pick<ResponderOptions, 'self' | 'prologue' | 'message'>): Promise<RespondedHandshake> {
		const {self, prologue, message} = options;
		return this.#take(
			() => new NoiseResponder(nodeNoiseCrypto, options),
			() => this.#respondElsewhere({kind: 'respond', self: seedsOf(self), prologue, message: Uint8Array.from(message)}),
		);
	}

	/** Makes a first message. */
	begin(options: Omit<InitiatorOptions, 'seeds'>): Promise<BegunHandshake> {
		return this.#take<BegunHandshake>(
			() => new NoiseInitiator(nodeNoiseCrypto, options),
			() => this.#beginElsewhere(options),
		);
	}

	#take<T>(here: () => T, elsewhere: () => Promise<T>): Promise<T> {
		return new Promise<T>((resolve, reject) => {
			if (this.#waiting.length + (this.#threads?.busy ?? 0) >= MAX_QUEUED_HANDSHAKES) {
				reject(new Error('too many handshakes at once'));
				return;
			}
			this.#waiting.push({here, elsewhere, resolve: resolve as Turn['resolve'], reject});
			this.#schedule();
		});
	}

	#schedule(): void {
		if (this.#hasTurn) return;
		this.#hasTurn = true;
		setImmediate(() => void this.#takeTurn());
	}

	async #takeTurn(): Promise<void> {
		try {
			if (this.#waiting.length > MAX_WAITING_HANDSHAKES || this.#threads?.busy) await this.#moveToThreads();
			else settle(this.#waiting.shift()!);
		} finally {
			this.#hasTurn = false;
			if (this.#waiting.length > 0) this.#schedule();
		}
	}

	async #moveToThreads(): Promise<void> {
		if (!this.#threads) {
			const {HandshakeThreads: Threads} = await import('./handshake-threads.js');
			this.#threads = new Threads();
		}
		for (const {elsewhere, here, resolve, reject} of this.#waiting.splice(0)) {
			elsewhere().then(resolve, (error: unknown) => {
				if (error instanceof HandshakeError) reject(error);
				// Without threads it is slow, and works.
				else settle({here, resolve, reject});
			});
		}
	}

	async #respondElsewhere(work: HandshakeWork): Promise<RespondedHandshake> {
		const {initiator, payload, answer} = requireKind(await this.#threads!.run(work), 'responded');
		const {message, keys} = answer;
		return {initiator, payload, answer: () => ({message, ciphers: toChannelCiphers(nodeNoiseCrypto, keys)})};
	}

	async #beginElsewhere({
		self,
		responder,
		prologue,
		payload,
	}: Omit<InitiatorOptions, 'seeds'>): Promise<BegunHandshake> {
		const seeds = {
			dh: randomBytes(DH_SEED_BYTES),
			kem: randomBytes(KEM_SEED_BYTES),
			skem: randomBytes(DH_SEED_BYTES),
		};
		const beginning = {self: seedsOf(self), responder, prologue, payload, seeds};
		const {message} = requireKind(await this.#threads!.run({kind: 'begin', ...beginning}), 'begun');
		const finish = async (answer: Uint8Array): Promise<ChannelCiphers> => {
			const work = {kind: 'finish', ...beginning, answer: Uint8Array.from(answer)} as const;
			return toChannelCiphers(nodeNoiseCrypto, requireKind(await this.#threads!.run(work), 'finished').keys);
		};
		return {message, finish};
	}
}

/** All handshakes of this program. */
export const handshakes = new Handshakes();

function settle({here, resolve, reject}: Pick<Turn, 'here' | 'resolve' | 'reject'>): void {
	try {
		resolve(here());
	} catch (error) {
		reject(error);
	}
}

function seedsOf({dh, kem}: NoiseKeys): SeedPair {
	// Copies: with a view of a larger block the whole block would be sent to a thread.
	return {dh: Uint8Array.from(dh.seed), kem: Uint8Array.from(kem.seed)};
}

function requireKind<K extends HandshakeResult['kind']>(
	result: HandshakeResult,
	kind: K,
): HandshakeResult & {readonly kind: K} {
	if (result.kind === kind) return result as HandshakeResult & {readonly kind: K};
	throw new HandshakeError('the Noise handshake failed');
}
