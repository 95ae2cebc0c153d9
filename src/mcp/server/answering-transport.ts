import {PassThrough, type Readable} from 'node:stream';
import {setImmediate as nextTurn} from 'node:timers/promises';
import type {JSONRPCMessage, Transport} from '@modelcontextprotocol/server';
import {StdioServerTransport} from '@modelcontextprotocol/server/stdio';

/** Answered when it ends, and nobody asks for that any more then. */
const ENDLESS_METHOD = 'subscriptions/listen';
const CANCELLED = 'notifications/cancelled';

type RequestId = string | number;

/** Standard input and output of an MCP client. The end of the input is no end of the connection: requests before it are answered. */
export class AnsweringTransport implements Transport {
	onclose: Transport['onclose'];
	onerror: Transport['onerror'];
	onmessage: Transport['onmessage'];
	readonly #source: Readable;
	readonly #input = new PassThrough();
	readonly #stdio: StdioServerTransport;
	readonly #unanswered = new Set<RequestId>();
	#answered = (): void => {};

	constructor(source: Readable) {
		this.#source = source;
		this.#stdio = new StdioServerTransport(this.#input);
		const listeners: Pick<Transport, 'onclose' | 'onerror' | 'onmessage'> = {
			onclose: () => this.onclose?.(),
			onerror: error => this.onerror?.(error),
			onmessage: message => {
				this.#note(message);
				this.onmessage?.(message);
			},
		};
		Object.assign(this.#stdio, listeners);
	}

	async start(): Promise<void> {
		await this.#stdio.start();
		this.#source.pipe(this.#input, {end: false});
	}

	async send(message: JSONRPCMessage): Promise<void> {
		try {
			await this.#stdio.send(message);
		} finally {
			if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
		}
	}

	async close(): Promise<void> {
		this.#source.unpipe(this.#input);
		await this.#stdio.close();
	}

	/** Call when the input has ended. Settles when every request in it is answered. */
	async finish(): Promise<void> {
		// The last message may have no line feed behind it.
		await new Promise(resolve => this.#input.write('\n', resolve));
		await nextTurn();
		while (this.#unanswered.size > 0) {
			await new Promise<void>(resolve => {
				this.#answered = resolve;
			});
		}
	}

	#note(message: JSONRPCMessage): void {
		if (!('method' in message)) return;
		if ('id' in message) {
			if (message.method !== ENDLESS_METHOD) this.#unanswered.add(message.id);
		} else if (message.method === CANCELLED) {
			// Whether a cancelled request is answered is up to its handler.
			this.#settle((message.params as {requestId?: RequestId} | undefined)?.requestId);
		}
	}

	#settle(id: RequestId | undefined): void {
		if (id !== undefined) this.#unanswered.delete(id);
		this.#answered();
	}
}
