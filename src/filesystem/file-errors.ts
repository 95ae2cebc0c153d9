import {constants} from 'node:os';
import {LongarmError} from '../shared/errors.js';
import {osErrorText} from '../shared/node/os-error.js';

/** Errors of the operating system for requests that are invalid or not permitted. */
const REFUSED_CODES: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EINVAL']);

export function refusedError(message: string, context?: Record<string, unknown>): LongarmError {
	return new LongarmError('FILE_REFUSED', {message, ...(context && {context})});
}

/** Refusal of a file that shows this process; like a missing permission, so that a walk reports it and goes on. */
export class OwnEntryError extends Error {
	readonly code = 'EACCES';
	readonly errno = -constants.errno.EACCES;

	constructor() {
		super('Permission denied: the file shows the environment, memory or descriptors of the server itself');
	}
}

/** Converts an error of the operating system into a LongarmError; returns others as they are. */
export function toDomainFileError(error: unknown): unknown {
	if (!isSystemError(error)) return error;
	const {code, errno} = error;
	const kind = code === 'ENOENT' ? 'FILE_NOT_FOUND' : REFUSED_CODES.has(code) ? 'FILE_REFUSED' : 'FILE_FAILED';
	const message = error instanceof OwnEntryError ? error.message : osErrorText(errno);
	return new LongarmError(kind, {message, context: {errno: code}, cause: error});
}

export function fileErrorMessage(error: unknown): string {
	const known = toDomainFileError(error);
	return known instanceof Error ? known.message : String(known);
}

/** Converts the errors of an operation into LongarmErrors. */
export function withFileErrors<A extends readonly unknown[], T>(
	operation: (...parameters: A) => Promise<T>,
): (...parameters: A) => Promise<T> {
	return async (...parameters) => {
		try {
			return await operation(...parameters);
		} catch (error) {
			throw toDomainFileError(error);
		}
	};
}

/** The same for an operation that is done when it returns. */
export function withFileErrorsAtOnce<A extends readonly unknown[], T>(
	operation: (...parameters: A) => T,
): (...parameters: A) => T {
	return (...parameters) => {
		try {
			return operation(...parameters);
		} catch (error) {
			throw toDomainFileError(error);
		}
	};
}

/** True if it is an error of the operating system with one of these codes. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
	return isSystemError(error) && codes.includes(error.code);
}

/** Error as the operating system would have raised it. */
export function systemError(code: keyof typeof constants.errno): Error {
	const errno = constants.errno[code];
	return Object.assign(new Error(`${code}: ${osErrorText(errno)}`), {code, errno: -errno});
}

function isSystemError(error: unknown): error is Error & {code: string; errno: number} {
	return error instanceof Error && 'errno' in error && typeof error.errno === 'number' && 'code' in error;
}
