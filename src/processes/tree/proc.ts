// Linux only: reads of /proc that succeed even when the process has run out of file descriptors.
import {closeSync, openSync, readdirSync, readFileSync} from 'node:fs';

/** Error codes for no file descriptors left: in this process, or in the system. */
const EXHAUSTED_CODES: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE']);

let isSpareEnabled = false;
let spareFd: number | undefined;

/** Reserves a file descriptor, so that processes can be found and killed even when no others are left. */
export function keepSpareDescriptor(): void {
	isSpareEnabled = true;
	openSpare();
}

/** The text of a file below `/proc`; throws when the process is gone. */
export function readProc(path: string): string {
	return readWithSpare(() => readFileSync(`/proc/${path}`, 'latin1'));
}

/** The names in a directory below `/proc`; throws when the process is gone. */
export function listProc(path: string): string[] {
	return readWithSpare(() => readdirSync(`/proc/${path}`));
}

function readWithSpare<T>(read: () => T): T {
	openSpare();
	try {
		return read();
	} catch (error) {
		if (spareFd === undefined || !EXHAUSTED_CODES.has((error as NodeJS.ErrnoException).code)) throw error;
	}
	closeSync(spareFd);
	spareFd = undefined;
	try {
		return read();
	} finally {
		openSpare();
	}
}

function openSpare(): void {
	if (!isSpareEnabled || spareFd !== undefined) return;
	try {
		spareFd = openSync('/dev/null', 'r');
	} catch {
		// Another thread or program took the descriptor first; the next read tries again.
	}
}
