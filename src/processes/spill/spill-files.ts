import {join} from 'node:path';
import {LongarmError} from '../../shared/errors.js';
import {closeQuietly, isSystemError, openRegularFile, toStateError} from './state-files.js';

export const OUTPUT_FILE = 'out';
export const INDEX_FILE = 'idx';
/** Input that is recorded, and labels of markers: `out` is output only. */
export const ASIDE_FILE = 'in';

export interface SpillDescriptors {
	readonly out: number;
	readonly idx: number;
	/** Undefined while there is nothing in it. */
	aside: number | undefined;
}

/** Descriptors that the writer and all readers of one spill share: open while one of them needs them. */
export class SpillFiles {
	readonly directory: string;
	#descriptors: SpillDescriptors | undefined;
	#users = 0;
	#isRemoved = false;

	/** Descriptors of a writer are in use until `release`. */
	constructor(directory: string, descriptors?: SpillDescriptors) {
		this.directory = directory;
		this.#descriptors = descriptors;
		if (descriptors) this.#users = 1;
	}

	/** Call between `retain` and `release`. */
	get descriptors(): SpillDescriptors {
		return this.#descriptors!;
	}

	/** Throws PROCESS_UNKNOWN for files that were removed, STATE_UNUSABLE for others that cannot be opened. */
	retain(): SpillDescriptors {
		this.#descriptors ??= this.#open();
		this.#users++;
		return this.#descriptors;
	}

	/** Readers that have the files open read on; no other can open them. */
	markRemoved(): void {
		this.#isRemoved = true;
	}

	#open(): SpillDescriptors {
		if (this.#isRemoved) {
			throw new LongarmError('PROCESS_UNKNOWN', {message: 'the process was removed with its output'});
		}
		try {
			return openDescriptors(this.directory, 'read');
		} catch (error) {
			throw toStateError(error, this.directory);
		}
	}

	release(): void {
		if (--this.#users > 0) return;
		const {out, idx, aside} = this.descriptors;
		this.#descriptors = undefined;
		for (const fd of [out, idx, aside]) if (fd !== undefined) closeQuietly(fd);
	}

	/** Runs `work` with open files; what the disk refuses is STATE_UNUSABLE. */
	with<T>(work: (descriptors: SpillDescriptors) => T): T {
		const descriptors = this.retain();
		try {
			return work(descriptors);
		} catch (error) {
			throw toStateError(error, this.directory);
		} finally {
			this.release();
		}
	}
}

export function openDescriptors(directory: string, access: 'read' | 'write'): SpillDescriptors {
	const opened: number[] = [];
	const open = (name: string): number => {
		const fd = openRegularFile(join(directory, name), access);
		opened.push(fd);
		return fd;
	};
	try {
		return {out: open(OUTPUT_FILE), idx: open(INDEX_FILE), aside: unlessMissing(() => open(ASIDE_FILE))};
	} catch (error) {
		for (const fd of opened) closeQuietly(fd);
		throw error;
	}
}

function unlessMissing(open: () => number): number | undefined {
	try {
		return open();
	} catch (error) {
		if (isSystemError(error, 'ENOENT')) return undefined;
		throw error;
	}
}
