import type {RpcConnection} from '../../rpc/rpc-connection.js';

/** Bytes of messages that have not arrived completely, of all connections of one account; the oldest of them may exceed it. */
export const MAX_ACCOUNT_PARTIAL_BYTES = 128 * 1024 * 1024;
/** A message of which nothing arrives for so long is given up, with its connection, while others wait for its memory. */
const MAX_STALL_MS = 10_000;
const STALL_CHECK_MS = 2500;

type Receiving = Pick<RpcConnection, 'holdReading' | 'destroy'>;

interface PartialMessage {
	bytes: number;
	changedAt: number;
	/** Set while its connection is not read. */
	resumeReading: (() => void) | undefined;
}

/** Bounds the memory of half-sent messages: beyond the bound only the connection whose message is the oldest is read. */
export class PartialMessages {
	/** The oldest first. */
	readonly #messages = new Map<Receiving, PartialMessage>();
	#totalBytes = 0;
	#timer: NodeJS.Timeout | undefined;

	/** Call after a read with the bytes of the message that is arriving; with 0 when it is complete, or the connection closed. */
	report(connection: Receiving, bytes: number): void {
		const message = this.#messages.get(connection) ?? {bytes: 0, changedAt: 0, resumeReading: undefined};
		this.#totalBytes += bytes - message.bytes;
		message.bytes = bytes;
		message.changedAt = performance.now();
		if (bytes === 0) {
			this.#messages.delete(connection);
			message.resumeReading?.();
			this.#resumeOthers();
			return;
		}
		this.#messages.set(connection, message);
		if (this.#mayRead(connection)) return;
		message.resumeReading ??= connection.holdReading();
		this.#timer ??= setInterval(() => this.#giveUpStalled(), STALL_CHECK_MS).unref();
	}

	#mayRead(connection: Receiving): boolean {
		const [oldest] = this.#messages.keys();
		return this.#totalBytes <= MAX_ACCOUNT_PARTIAL_BYTES || connection === oldest;
	}

	#resumeOthers(): void {
		for (const [connection, message] of this.#messages) {
			if (!message.resumeReading || !this.#mayRead(connection)) continue;
			message.changedAt = performance.now();
			const resume = message.resumeReading;
			message.resumeReading = undefined;
			resume();
		}
		if ([...this.#messages.values()].some(({resumeReading}) => resumeReading)) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
	}

	#giveUpStalled(): void {
		const now = performance.now();
		for (const [connection, {changedAt, resumeReading}] of Array.from(this.#messages)) {
			if (!resumeReading && now - changedAt > MAX_STALL_MS) connection.destroy();
		}
	}
}
