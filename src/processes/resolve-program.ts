import {type Stats, statSync} from 'node:fs';
import {constants} from 'node:os';
import {spawnError} from './backends/backend.js';

/** Search path when the child has no PATH. */
export const DEFAULT_PATH = '/usr/local/bin:/bin:/usr/bin';

const EXECUTABLE_BITS = 0o111;

/**
 * Finds the file to execute the way the child itself would: along the child's own PATH, relative entries and
 * relative programs from the child's working directory.
 */
export function resolveProgram(program: string, path: string | undefined, cwd: Uint8Array): string {
	if (program.includes('/')) return program;
	let isDenied = false;
	for (const directory of (path ?? DEFAULT_PATH).split(':')) {
		const candidate = directory === '' ? `./${program}` : `${directory}/${program}`;
		const found = probeFile(resolveFrom(cwd, candidate));
		if (found === 'executable') return candidate;
		isDenied ||= found === 'denied';
	}
	throw spawnError(isDenied ? constants.errno.EACCES : constants.errno.ENOENT, program);
}

/** Throws as the operating system does for a file that is missing or a directory, where it does not get to see the file. */
export function requireProgramFile(file: string, cwd: Uint8Array): void {
	let found: Stats | undefined;
	try {
		found = statSync(resolveFrom(cwd, file), {throwIfNoEntry: false});
	} catch {
		// It may be there: the program that starts it finds out.
		return;
	}
	if (!found) throw spawnError(constants.errno.ENOENT, file);
	if (!found.isFile()) throw spawnError(constants.errno.EACCES, file);
}

function probeFile(path: string | Buffer): 'executable' | 'denied' | 'absent' {
	try {
		const found = statSync(path, {throwIfNoEntry: false});
		if (!found?.isFile()) return 'absent';
		return (found.mode & EXECUTABLE_BITS) === 0 ? 'denied' : 'executable';
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'denied' : 'absent';
	}
}

function resolveFrom(cwd: Uint8Array, path: string): string | Buffer {
	return path.startsWith('/') ? path : Buffer.concat([cwd, Buffer.from(`/${path}`)]);
}
