import type {Result} from '../../../protocol/methods/method-table.js';
import {encodeWithBytes} from '../../../protocol/wire/encode.js';
import {randomId} from '../../../shared/random-id.js';
import type {SessionClient} from '../../session/session-client.js';
import type {TransferOutcome} from '../files.js';
import {ConnectionCalls} from './connection-calls.js';

/** An open handle of the server, by the id the client gave it. */
export class RemoteHandle {
	readonly id = randomId();
	readonly #calls: ConnectionCalls;

	/** `open` makes the call that opens the handle. */
	static async open<T>(
		client: SessionClient,
		open: (calls: ConnectionCalls, handleId: string) => Promise<T>,
	): Promise<{handle: RemoteHandle; opened: T}> {
		const handle = new RemoteHandle(client);
		try {
			return {handle, opened: await open(handle.#calls, handle.id)};
		} catch (error) {
			handle.#calls.end();
			throw error;
		}
	}

	private constructor(client: SessionClient) {
		this.#calls = new ConnectionCalls(client);
	}

	read(offset: number, length: number): Promise<Result<'fs/readBlock'>> {
		return this.#calls.call('fs/readBlock', {handleId: this.id, offset, len: length});
	}

	write(offset: number, chunk: Uint8Array): Promise<Result<'fs/writeBlock'>> {
		return this.#calls.call('fs/writeBlock', encodeWithBytes({handleId: this.id, offset, chunk}));
	}

	/** Finishes a transfer, which closes the handle. */
	async finish(sha256?: string): Promise<TransferOutcome> {
		const outcome = await this.#calls.call('fs/finish', {handleId: this.id, ...(sha256 !== undefined && {sha256})});
		this.#calls.end();
		return outcome;
	}

	/** Fails when the system could not store the bytes written. */
	async close(): Promise<void> {
		await this.#calls.call('fs/close', {handleId: this.id});
		this.#calls.end();
	}

	abandon(): void {
		this.#calls.release('fs/close', {handleId: this.id});
	}
}
