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
	/** Whether entries are on the disk of the target before they count as copied; they are unless this is false. */
	readonly sync?: boolean | undefined;
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
		stats.addFailure(failedLocations.get(error) ?? location, error);
	}
}

/** Where operations of a copy failed: it works at two locations, and a path does not tell of which machine it is. */
const failedLocations = new WeakMap<FileError, FileLocation>();

/** Runs an operation at a location; a failure is reported as one there. */
export async function atLocation<T>(location: FileLocation, operation: () => T | Promise<T>): Promise<T> {
	try {
		return await operation();
	} catch (error) {
		if (error instanceof FileError && !failedLocations.has(error)) failedLocations.set(error, location);
		throw error;
	}
}
