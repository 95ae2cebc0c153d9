// Linux only: a file in memory.
import {closeSync, readSync} from 'node:fs';
import {errorMessage, LongarmError} from '../errors.js';
import {loadMemoryFileCalls, openMemoryFile} from './memory-file.js';
import {keepFromPrograms} from './replace-program.js';

/** Version of everything a server hands over to the program that takes its place. A state of another one is not read. */
export const HANDOFF_VERSION = 1;
/** Most that is handed over: retained output, and input that was accepted. */
export const MAX_HANDOFF_BYTES = 2 * 1024 ** 3;

const MAGIC = 'longarm-handoff\n';
/** Magic, version, unused, length of the JSON text. */
const HEADER_BYTES = 32;
/** First descriptor after the standard streams. */
const FIRST_FD = 3;

/** Place of bytes in a handoff. */
export interface StoredBytes {
	readonly at: number;
	readonly length: number;
}

/** Takes what is handed over. */
export interface HandoffSink {
	/** Keeps a descriptor open in the next program; returns it. */
	keep(fd: number): number;
	/** Takes bytes, without a copy: they must not change before the file is written. */
	store(...parts: readonly Uint8Array[]): StoredBytes;
}

/** Gives what was handed over. */
export interface HandoffSource {
	/** The descriptor of the same number, which is kept from programs that are started from now on. */
	adopt(fd: number): number;
	load(stored: StoredBytes): Buffer;
}

/** Collects descriptors and bytes beside a JSON state, and writes them to a file in memory. */
export class HandoffWriter implements HandoffSink {
	readonly #descriptors = new Set<number>();
	readonly #parts: Uint8Array[] = [];
	#bytes = 0;

	get descriptors(): ReadonlySet<number> {
		return this.#descriptors;
	}

	keep(fd: number): number {
		this.#descriptors.add(fd);
		return fd;
	}

	store(...parts: readonly Uint8Array[]): StoredBytes {
		const at = this.#bytes;
		for (const part of parts) {
			if (part.length === 0) continue;
			this.#parts.push(part);
			this.#bytes += part.length;
		}
		if (this.#bytes > MAX_HANDOFF_BYTES)
			throw handoffError(`there are more than ${MAX_HANDOFF_BYTES} bytes to hand over`);
		return {at, length: this.#bytes - at};
	}

	/** Descriptor of the file; it stays open in the next program like the others. */
	writeFile(state: unknown, version = HANDOFF_VERSION): number {
		const text = Buffer.from(JSON.stringify(state));
		const header = Buffer.alloc(HEADER_BYTES);
		header.write(MAGIC, 'latin1');
		header.writeUInt32LE(version, MAGIC.length);
		header.writeBigUInt64LE(BigInt(text.length), HEADER_BYTES - 8);
		const content = [header, text, ...this.#parts];
		return this.keep(openMemoryFile(loadMemoryFileCalls(), content, {minFd: FIRST_FD}, memoryFileError));
	}
}

/** Reads what another program has handed over. */
export class HandoffReader implements HandoffSource {
	readonly #fd: number;
	readonly #start: number;
	/** As it was written; nothing but its version is checked. */
	readonly state: unknown;

	/** Throws for a file that is no handoff, or one of another version. */
	constructor(fd: number) {
		this.#fd = fd;
		const header = this.#read(HEADER_BYTES, 0);
		if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) throw handoffError('this is no state of a server');
		const version = header.readUInt32LE(MAGIC.length);
		if (version !== HANDOFF_VERSION) {
			throw handoffError(`the state has the version ${version}, and this program reads ${HANDOFF_VERSION}`);
		}
		const length = Number(header.readBigUInt64LE(HEADER_BYTES - 8));
		this.state = JSON.parse(this.#read(length, HEADER_BYTES).toString());
		this.#start = HEADER_BYTES + length;
	}

	adopt(fd: number): number {
		if (!keepFromPrograms(fd)) throw handoffError(`the descriptor ${fd} was not handed over`);
		return fd;
	}

	load({at, length}: StoredBytes): Buffer {
		return this.#read(length, this.#start + at);
	}

	close(): void {
		closeSync(this.#fd);
	}

	#read(length: number, position: number): Buffer {
		const bytes = Buffer.allocUnsafeSlow(length);
		for (let at = 0; at < length; ) {
			const count = this.#readSome(bytes, at, position + at);
			if (count === 0) throw handoffError('the state is cut short');
			at += count;
		}
		return bytes;
	}

	#readSome(bytes: Buffer, at: number, position: number): number {
		try {
			return readSync(this.#fd, bytes, at, bytes.length - at, position);
		} catch (error) {
			throw handoffError(`the state cannot be read: ${errorMessage(error)}`);
		}
	}
}

function memoryFileError(errno: number): LongarmError {
	return handoffError(`no file in memory: errno ${errno}`);
}

function handoffError(message: string): LongarmError {
	return new LongarmError('UPGRADE_FAILED', {message});
}
