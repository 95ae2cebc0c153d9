import {closeSync, fstatSync, openSync, readSync, type Stats} from 'node:fs';
import {LongarmError} from '../../shared/errors.js';
import {osErrorText} from '../../shared/node/os-error.js';
import {findSecrecyFault} from '../../shared/node/private-file.js';

/** Bounds the read, so that an endless device does not exhaust memory. */
const MAX_SECRET_FILE_BYTES = 1024 * 1024;

type FindFault = (stats: Stats, path: string) => string | undefined;

export function invalidAuthError(message: string): LongarmError {
	return new LongarmError('AUTH_INVALID', {message});
}

/**
 * Reads a file with tokens or digests as text; errors name the file and never quote its content. `findFault` judges who
 * else has access to it.
 */
export function readSecretFile(path: string, findFault: FindFault = findSecrecyFault): string {
	try {
		return readBounded(path, findFault).toString('utf8');
	} catch (error) {
		const {errno, message} = error as NodeJS.ErrnoException;
		const reason = errno === undefined ? message : osErrorText(errno);
		throw invalidAuthError(`failed to read websocket auth secret ${path}: ${reason}`);
	}
}

function readBounded(path: string, findFault: FindFault): Buffer {
	const file = openSync(path, 'r');
	try {
		const fault = findFault(fstatSync(file), path);
		if (fault !== undefined) throw new Error(fault);
		const content = Buffer.alloc(MAX_SECRET_FILE_BYTES + 1);
		let length = 0;
		for (let count = -1; count !== 0; length += count)
			count = readSync(file, content, length, content.length - length, null);
		if (length > MAX_SECRET_FILE_BYTES) throw new Error(`larger than ${MAX_SECRET_FILE_BYTES} bytes`);
		return content.subarray(0, length);
	} finally {
		closeSync(file);
	}
}

/** Reads a file that holds a single secret, and trims it. */
export function readSecret(path: string): string {
	const secret = readSecretFile(path).trim();
	if (secret === '') throw invalidAuthError(`websocket auth secret ${path} must not be empty`);
	return secret;
}
