import {accessSync, constants, statSync} from 'node:fs';
import {LongarmError} from '../shared/errors.js';

/** Errors of the operating system that a directory and a program cause alike. */
const AMBIGUOUS: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG']);
/** Errors that mean there is no such file. */
const MISSING: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR']);

/**
 * Tells a bad working directory from a missing program, which the operating system reports by the same error. The
 * message stays, because it is the protocol's; code, context and hint say what is wrong.
 */
export function explainFailedSpawn(error: unknown, cwd: Uint8Array): unknown {
	if (!(error instanceof LongarmError) || error.code !== 'SPAWN_FAILED') return error;
	const {message, context} = error;
	const {error: name} = context;
	if (!AMBIGUOUS.has(name)) return error;
	if (!canBeEntered(cwd)) {
		const directory = Buffer.from(cwd).toString();
		return new LongarmError('CWD_UNUSABLE', {message, context: {cwd: directory, error: name}, cause: error});
	}
	return MISSING.has(name) ? new LongarmError('PROGRAM_NOT_FOUND', {message, context, cause: error}) : error;
}

function canBeEntered(directory: Uint8Array): boolean {
	const path = Buffer.from(directory);
	try {
		if (!statSync(path).isDirectory()) return false;
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}
