import {FileError, isDisconnected} from '../file-error.js';
import type {FileLocation} from '../file-location.js';
import type {CopyStats} from './copy-stats.js';

/** State of a running copy. */
export interface CopyProgress {
	/** Name of the current entry, one character for each byte: of a file, or below the directory that is copied. */
	readonly name: string;
	/** Files and links that were copied. */
	readonly files: number;
	/** Bytes of content at the target, including those that were skipped or resumed. */
	readonly bytes: number;
	/** Bytes of content that were sent, including those that were sent again. */
	readonly sentBytes: number;
	/** Bytes of content of the sources; undefined until they are counted, and where an executor cannot list them. */
	readonly totalBytes: number | undefined;
}

/** A file or directory that could not be copied. */
export interface CopyFailure {
	/** At the source or at the target. */
	readonly location: FileLocation;
	readonly error: FileError;
}

/** Callbacks of a copy. None of them may throw. */
export interface CopyObserver {
	/** Called after every change. With it the bytes of the sources are counted while the copy runs. */
	readonly onProgress?: ((progress: CopyProgress) => void) | undefined;
	/** Called once for each failure; the copy continues with the next entry. */
	readonly onFailure?: ((failure: CopyFailure) => void) | undefined;
	/** The connection was lost; the copy resumes after a pause. */
	readonly onRetry?: ((error: FileError) => void) | undefined;
	/** The executor of this location lacks `resume`: files are copied from their first byte, without modes and links. */
	readonly onFallback?: ((location: FileLocation) => void) | undefined;
}

/** State and settings that the steps of a copy share. */
export interface CopyContext {
	readonly signal: AbortSignal;
	readonly stats: CopyStats;
	/** Whether files and links replace existing ones. */
	readonly overwrite: boolean;
	readonly observer: CopyObserver;
}

/** Runs a step about one location. Its failure is recorded and the copy continues, unless no other step can succeed. */
export async function continueOnFailure(
	{signal, stats}: CopyContext,
	location: FileLocation,
	step: () => Promise<void>,
): Promise<void> {
	try {
		await step();
	} catch (error) {
		if (signal.aborted || isDisconnected(error) || !(error instanceof FileError)) throw error;
		stats.addFailure(location, error);
	}
}
