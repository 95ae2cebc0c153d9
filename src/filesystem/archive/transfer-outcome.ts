import {LongarmError} from '../../shared/errors.js';
import {type BytePath, joinPath} from '../byte-path.js';
import {fileErrorMessage} from '../file-errors.js';
import type {BlockDevice, HandleProgress} from '../file-handles.js';

export const MAX_ENTRY_ERRORS = 1000;

export interface ArchiveOutcome extends HandleProgress {
	/** Of the whole stream, in hexadecimal. */
	readonly sha256: string;
	/** Entries that could not be transferred. */
	readonly errors: readonly EntryError[];
}

/** Device that packs or unpacks a tree. */
export interface Transfer extends BlockDevice {
	finish(sha256?: string): Promise<ArchiveOutcome>;
}

export function isTransfer(device: BlockDevice): device is Transfer {
	return 'finish' in device;
}

export function damagedError(message: string, cause?: unknown): LongarmError {
	return new LongarmError('TRANSFER_DAMAGED', {message, cause});
}

export function isDamagedError(error: unknown): boolean {
	return error instanceof LongarmError && error.code === 'TRANSFER_DAMAGED';
}

export function verifyChecksum(sha256: string, expected: string | undefined): void {
	if (expected === undefined || expected.toLowerCase() === sha256) return;
	throw new LongarmError('TRANSFER_DAMAGED', {
		message: 'the stream has another checksum than its other end says',
		context: {sha256, expected},
	});
}

export interface EntryError {
	readonly path: BytePath;
	readonly message: string;
}

/** Errors of single entries: the first ones, and a count of the others. */
export class EntryErrors {
	readonly #root: BytePath;
	readonly #kept: EntryError[] = [];
	#rest = 0;

	constructor(root: BytePath) {
		this.#root = root;
	}

	get list(): EntryError[] {
		if (this.#rest === 0) return [...this.#kept];
		return [...this.#kept, {path: this.#root, message: `and ${this.#rest} more`}];
	}

	/** `name` is relative to the root. */
	add(name: string, reason: unknown): void {
		if (this.#kept.length >= MAX_ENTRY_ERRORS) {
			this.#rest++;
			return;
		}
		const message = typeof reason === 'string' ? reason : fileErrorMessage(reason);
		this.#kept.push({path: name === '' ? this.#root : joinPath(this.#root, name), message});
	}
}
