import {closeSync, openSync, readSync} from 'node:fs';
import {LongarmError} from '../../shared/errors.js';
import {osErrorText} from '../../shared/node/os-error.js';

/** More than anybody's tokens take; a device that never ends is not read to its end. */
const MAX_SECRET_FILE_BYTES = 1024 * 1024;

export function invalidAuth(message: string): LongarmError {
	return new LongarmError('AUTH_INVALID', {message});
}

/** A file with tokens or digests as text; its errors name the file and never quote it. */
export function readSecretFile(path: string): string {
	try {
		return readBounded(path).toString('utf8');
	} catch (error) {
		const {errno, message} = error as NodeJS.ErrnoException;
		const reason = errno === undefined ? message : osErrorText(errno);
		throw invalidAuth(`failed to read websocket auth secret ${path}: ${reason}`);
	}
}

function readBounded(path: string): Buffer {
	const file = openSync(path, 'r');
	try {
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

/** A file that holds a single secret, without the space around it. */
export function readSecret(path: string): string {
	const secret = readSecretFile(path).trim();
	if (secret === '') throw invalidAuth(`websocket auth secret ${path} must not be empty`);
	return secret;
}
