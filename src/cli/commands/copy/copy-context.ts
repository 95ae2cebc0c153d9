import {FileError} from '../../../client/files/file-error.js';
import {describeLocation, type Location} from '../../common/locations.js';
import {printableReason} from '../../common/printable.js';
import type {CopyStats} from './copy-stats.js';

/** What the parts of a copy share. */
export interface CopyContext {
	readonly signal: AbortSignal;
	readonly stats: CopyStats;
	/** What is there stays as it is. */
	readonly noClobber: boolean;
	/** Tells people something once. */
	readonly note: (text: string) => void;
}

/** Does something about one place: when it fails that is counted and told, and the copy goes on. */
export async function attempt(context: CopyContext, place: Location, work: () => Promise<void>): Promise<void> {
	try {
		await work();
	} catch (error) {
		if (concernsAll(error, context.signal)) throw error;
		context.stats.fail(describeLocation(place), printableReason(error));
	}
}

export function isDisconnect(error: unknown): boolean {
	return error instanceof FileError && error.code === 'disconnected';
}

/** Whether nothing else can be done either. */
function concernsAll(error: unknown, signal: AbortSignal): boolean {
	return signal.aborted || isDisconnect(error) || !(error instanceof FileError);
}
