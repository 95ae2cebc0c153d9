import {LongarmError} from '../shared/errors.js';
import {osErrorText} from '../shared/node/os-error.js';

/** What the operating system says about a request that makes no sense or is not allowed. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EINVAL']);

export function refused(message: string, context?: Record<string, unknown>): LongarmError {
	return new LongarmError('FILE_REFUSED', {message, ...(context && {context})});
}

/** Makes a failure of the operating system one of ours; others pass. */
export function toDomainFileError(error: unknown): unknown {
	if (!isSystemError(error)) return error;
	const {code, errno} = error;
	const kind = code === 'ENOENT' ? 'FILE_NOT_FOUND' : REFUSALS.has(code) ? 'FILE_REFUSED' : 'FILE_FAILED';
	return new LongarmError(kind, {message: osErrorText(errno), context: {errno: code}, cause: error});
}

export function fileErrorMessage(error: unknown): string {
	const known = toDomainFileError(error);
	return known instanceof Error ? known.message : String(known);
}

/** Whether the operating system gave one of these reasons. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
	return isSystemError(error) && codes.includes(error.code);
}

/** The error the operating system would have given. */
export function systemError(code: string, errno: number): Error {
	return Object.assign(new Error(`${code}: ${osErrorText(errno)}`), {code, errno: -errno});
}

function isSystemError(error: unknown): error is Error & {code: string; errno: number} {
	return error instanceof Error && 'errno' in error && typeof error.errno === 'number' && 'code' in error;
}
