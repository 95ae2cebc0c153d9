import {isExplained} from '../../adapters/wire-errors.js';
import {PathUriError} from '../../protocol/path-uri/path-uri.js';
import {INVALID_REQUEST, METHOD_NOT_FOUND, NOT_FOUND} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {type ErrorCode, LongarmError} from '../../shared/errors.js';
import type {Path} from '../paths.js';
import {describePath} from '../paths.js';
import {ProtocolError, RejectedError, TooManyCallsError} from '../session/client-errors.js';

const TRANSPORT_CLOSED = 'exec-server transport closed';
/** Error codes that are more exact than their number on the wire. */
const BY_NAME: Partial<Record<ErrorCode, FileErrorCode>> = {
	FILE_NOT_FOUND: 'not-found',
	FILE_REFUSED: 'refused',
	TRANSFER_DAMAGED: 'damaged',
	PATTERN_INVALID: 'refused',
	NOT_SUPPORTED: 'unsupported',
};
const BY_NUMBER: ReadonlyMap<number, FileErrorCode> = new Map([
	[NOT_FOUND, 'not-found'],
	[INVALID_REQUEST, 'refused'],
	[METHOD_NOT_FOUND, 'unsupported'],
]);

/** Kind of a failure; `detail` has the executor's own words. */
export type FileErrorCode =
	/** The path does not exist. */
	| 'not-found'
	/** The request makes no sense or is not permitted. */
	| 'refused'
	/** The system could not do it. */
	| 'failed'
	/** A tree or a copy did not arrive as it was sent. */
	| 'damaged'
	/** A reply of the executor breaks the protocol. */
	| 'invalid-data'
	/** The executor lacks the feature. */
	| 'unsupported'
	/** The connection is lost; whether a change was made is not known. */
	| 'disconnected'
	/** A watch, a search or a transfer ended early. */
	| 'ended';

/** Details of a `FileError`. */
export interface FileErrorDetails {
	readonly path: string;
	/** The other path of a copy or a rename. */
	readonly target?: string | undefined;
	readonly hint?: string | undefined;
	readonly cause?: unknown;
}

/** An operation on files failed, here or on another machine: the same code and words for the same reason. */
export class FileError extends Error {
	override readonly name = 'FileError';
	readonly code: FileErrorCode;
	/** Path of the operation, as the caller wrote it. */
	readonly path: string;
	/** The other path of a copy or a rename: the executor does not say which of the two is to blame. */
	readonly target: string | undefined;
	/** The message without the path. */
	readonly detail: string;
	/** Advice, where the executor has one. */
	readonly hint: string | undefined;

	/** The path is part of the message, except where no file but the connection has failed. */
	constructor(code: FileErrorCode, detail: string, {path, target, hint, cause}: FileErrorDetails) {
		const place = target === undefined ? path : `${path} to ${target}`;
		const message = path === '' || code === 'disconnected' ? detail : `${place}: ${detail}`;
		super(message, cause === undefined ? undefined : {cause});
		this.code = code;
		this.path = path;
		this.target = target;
		this.detail = detail;
		this.hint = hint;
	}
}

/** Converts failures of calls to a `FileError` about the path; reasons of signals and programming errors pass. */
export function toFileError(error: unknown, given: Path): unknown {
	const path = describePath(given);
	if (error instanceof DisconnectedError) return disconnectedError(path, error);
	if (error instanceof RejectedError) {
		const {code, errorCode, reason, hint} = error;
		const kind = BY_NAME[errorCode as ErrorCode] ?? BY_NUMBER.get(code) ?? 'failed';
		return new FileError(kind, reason, {path, hint, cause: error});
	}
	if (error instanceof LongarmError) {
		// As from another machine: a hint that does not travel is not there.
		const hint = isExplained(error.code) ? error.hint : undefined;
		return new FileError(BY_NAME[error.code] ?? 'failed', error.message, {path, hint, cause: error});
	}
	if (error instanceof PathUriError) return new FileError('refused', error.message, {path, cause: error});
	if (error instanceof TooManyCallsError) return new FileError('failed', error.message, {path, cause: error});
	if (error instanceof ProtocolError) return new FileError('invalid-data', error.message, {path, cause: error});
	return error;
}

export function disconnectedError(path: string, cause?: unknown): FileError {
	return new FileError('disconnected', TRANSPORT_CLOSED, {path, cause});
}

export function unsupportedError(what: string, path: string): FileError {
	return new FileError('unsupported', `exec-server does not support ${what}`, {path});
}

export function isNotFound(error: unknown): boolean {
	return error instanceof FileError && error.code === 'not-found';
}

export function isDisconnected(error: unknown): error is FileError {
	return error instanceof FileError && error.code === 'disconnected';
}

/** Runs an operation and converts its failures to a `FileError` about the path. */
export async function wrapFileErrors<T>(path: Path, operation: () => T | Promise<T>): Promise<T> {
	try {
		return await operation();
	} catch (error) {
		throw toFileError(error, path);
	}
}

/** The same for an operation with two paths. */
export async function wrapPairErrors<T>(from: Path, to: Path, operation: () => T | Promise<T>): Promise<T> {
	try {
		return await wrapFileErrors(from, operation);
	} catch (error) {
		if (!(error instanceof FileError)) throw error;
		const {code, detail, path, hint, cause} = error;
		throw new FileError(code, detail, {path, target: describePath(to), hint, cause});
	}
}
