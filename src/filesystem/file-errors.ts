import {constants} from 'node:os';
import {LongarmError} from '../shared/errors.js';
import {osErrorText} from '../shared/node/os-error.js';

/** Errors of the operating system for requests that are invalid or not permitted. */
const REFUSED_CODES: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EINVAL']);

export function refusedError(message: string, context?: Record<string, unknown>): LongarmError {
	return new LongarmError('FILE_REFUSED', {message, ...(context && {context})});
}

/** Converts an error of the operating system into a LongarmError; returns others as they are. */
export function toDomainFileError(error: unknown): unknown {
	if (!isSystemError(error)) return error;
	const {code, errno} = error;
	const kind = code === 'ENOENT' ? 'FILE_NOT_FOUND' : REFUSED_CODES.has(code) ? 'FILE_REFUSED' : 'FILE_FAILED';
	return new LongarmError(kind, {message: osErrorText(errno), context: {errno: code}, cause: error});
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
