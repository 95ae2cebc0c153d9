import type {Transport} from '../../src/transports/transport.js';

/** The far end of any transport, for sending and receiving raw messages. */
export class RawPeer {
	readonly transport: Transport;
	/** Every message so far, as text. */
	readonly texts: string[] = [];
	/** Reasons of messages that were no text. */
	readonly unreadable: string[] = [];
	/** Set once the transport has ended. */
	ending: {error: Error | undefined} | undefined;
	drains = 0;
	#taken = 0;
	#watchers = new Set<() => void>();

	/** For tests that need an open end and ignore its messages. */
	static open(transport: Transport): RawPeer {
		return new RawPeer(transport);
	}

	constructor(transport: Transport) {
		this.transport = transport;
		transport.open({
			message: text => {
				this.texts.push(text);
				this.#wake();
			},
			unreadable: reason => {
				this.unreadable.push(reason);
				this.#wake();
			},
			drained: () => {
				this.drains++;
				this.#wake();
			},
			closed: error => {
				if (this.ending) throw new Error('closed twice');
				this.ending = {error};
				this.#wake();
			},
		});
	}

	/** A string goes out as it is, everything else as JSON. */
	send(message: unknown): void {
		this.transport.send(typeof message === 'string' ? message : JSON.stringify(message));
	}

	/** Waits for and removes the next message. */
	async next<T = Record<string, unknown>>(): Promise<T> {
		return JSON.parse(await this.nextText()) as T;
	}

	async nextText(): Promise<string> {
		await this.until(() => this.texts.length > this.#taken, 'a message');
		return this.texts[this.#taken++]!;
	}

	async ask<T = Record<string, unknown>>(message: unknown): Promise<T> {
		this.send(message);
		return this.next<T>();
	}

	/** Everything received so far, parsed. */
	get received(): Record<string, unknown>[] {
		return this.texts.map(text => JSON.parse(text) as Record<string, unknown>);
	}

	/** Waits until `probe` is true, checked after every event. */
	until(probe: () => boolean, what: string): Promise<void> {
		return new Promise((resolve, reject) => {
			const check = (): void => {
				if (!probe() && !this.ending) return;
				this.#watchers.delete(check);
				if (probe()) resolve();
				else reject(new Error(`the transport closed before ${what}`, {cause: this.ending?.error}));
			};
			this.#watchers.add(check);
			check();
		});
	}

	async untilClosed(): Promise<{error: Error | undefined}> {
		await this.until(() => this.ending !== undefined, 'closing');
		return this.ending!;
	}

	#wake(): void {
		for (const check of this.#watchers) check();
	}
}
