import {LongarmError} from '../../shared/errors.js';
import type {BlockDevice, HandleProgress} from '../file-handles.js';
import type {EntryError} from './entry-errors.js';

export interface ArchiveOutcome extends HandleProgress {
	/** Of the whole stream, in hexadecimal. */
	readonly sha256: string;
	/** What could not be taken along. */
	readonly errors: readonly EntryError[];
}

/** A tree on its way in or out, behind a handle. */
export interface Transfer extends BlockDevice {
	finish(sha256?: string): Promise<ArchiveOutcome>;
}

export function isTransfer(device: BlockDevice): device is Transfer {
	return 'finish' in device;
}

export function damaged(message: string, cause?: unknown): LongarmError {
	return new LongarmError('TRANSFER_DAMAGED', {message, cause});
}

export function isDamage(error: unknown): boolean {
	return error instanceof LongarmError && error.code === 'TRANSFER_DAMAGED';
}

export function verifyChecksum(sha256: string, expected: string | undefined): void {
	if (expected === undefined || expected.toLowerCase() === sha256) return;
	throw new LongarmError('TRANSFER_DAMAGED', {
		message: 'the stream has another checksum than its other end says',
		context: {sha256, expected},
	});
}

/** Lets one after the other work, in the order they came. */
export class Turns {
	#last: Promise<unknown> = Promise.resolve();

	take<T>(work: () => Promise<T>): Promise<T> {
		const turn = this.#last.then(work);
		this.#last = turn.catch(() => {});
		return turn;
	}
}
