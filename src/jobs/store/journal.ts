import type {FileHandle} from 'node:fs/promises';
import {Deferred} from '../../shared/async/deferred.js';
import {ignoreRejection} from '../../shared/async/ignore-rejection.js';

interface Batch {
	readonly lines: string[];
	readonly synced: Deferred;
}

/**
 * Append-only file of lines. Lines that wait for the disk share one `fdatasync` (group commit). After a failed write
 * nothing more is taken: what is behind it on disk is not known.
 */
export class Journal {
	readonly #file: FileHandle;
	#end: number;
	/** Bytes that are in the file. */
	#written: number;
	#writing: Batch | undefined;
	#waiting: Batch | undefined;
	#flushing: Promise<void> | undefined;
	#failure: {readonly error: unknown} | undefined;
	/** Number of calls of `fdatasync`. */
	#syncs = 0;

	/** Goes on behind the byte `end`. */
	constructor(file: FileHandle, end: number) {
		this.#file = file;
		this.#end = end;
		this.#written = end;
	}

	get syncs(): number {
		return this.#syncs;
	}

	/** Byte at which the next line begins. */
	get end(): number {
		return this.#end;
	}

	/** `synced` settles when the line is on disk. */
	append(line: string): {readonly place: number; readonly synced: Promise<void>} {
		if (this.#failure) throw this.#failure.error;
		const place = this.#end;
		this.#end += Buffer.byteLength(line) + 1;
		this.#waiting ??= {lines: [], synced: new Deferred()};
		this.#waiting.lines.push(line, '\n');
		const {promise} = this.#waiting.synced;
		this.#flushing ??= this.#flush();
		return {place, synced: ignoreRejection(promise)};
	}

	/** Settles when the line at this byte can be read from the file. */
	async whenWritten(place: number): Promise<void> {
		while (place >= this.#written && !this.#failure) await (this.#writing ?? this.#waiting)?.synced.promise;
	}

	/** Settles when all lines are on disk; rejects if one cannot be written. */
	async settle(): Promise<void> {
		await this.#flushing;
		if (this.#failure) throw this.#failure.error;
	}

	/** Closes the file: nothing may be appended, or be on its way to the disk. */
	async close(): Promise<void> {
		await this.#file.close();
	}

	async #flush(): Promise<void> {
		// Whatever else this turn of the event loop has to say goes with the first batch.
		await Promise.resolve();
		while (this.#waiting) {
			const batch = this.#waiting;
			this.#waiting = undefined;
			this.#writing = batch;
			try {
				const bytes = Buffer.from(batch.lines.join(''));
				await this.#write(bytes);
				this.#written += bytes.length;
				await this.#file.datasync();
				this.#syncs++;
				batch.synced.resolve();
			} catch (error) {
				this.#failure = {error};
				batch.synced.reject(error);
				(this.#waiting as Batch | undefined)?.synced.reject(error);
				this.#waiting = undefined;
			}
		}
		this.#writing = undefined;
		this.#flushing = undefined;
	}

	async #write(bytes: Buffer): Promise<void> {
		for (let done = 0; done < bytes.length; ) {
			const {bytesWritten} = await this.#file.write(bytes, done, bytes.length - done);
			done += bytesWritten;
		}
	}
}
