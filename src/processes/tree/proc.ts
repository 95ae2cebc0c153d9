import {closeSync, openSync, readdirSync, readFileSync} from 'node:fs';

/** What the system says when there are no descriptors left, for this program or for all. */
const EXHAUSTED: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE']);

let keeps = false;
let spare: number | undefined;

/** Keeps a descriptor back, so that whatever has to be ended is found even when there are none left. */
export function keepSpareDescriptor(): void {
	keeps = true;
	takeSpare();
}

/** The text of a file below `/proc`; throws when the process is gone. */
export function readProc(path: string): string {
	return withSpare(() => readFileSync(`/proc/${path}`, 'latin1'));
}

/** The names in a directory below `/proc`; throws when the process is gone. */
export function listProc(path: string): string[] {
	return withSpare(() => readdirSync(`/proc/${path}`));
}

function withSpare<T>(read: () => T): T {
	takeSpare();
	try {
		return read();
	} catch (error) {
		if (spare === undefined || !EXHAUSTED.has((error as NodeJS.ErrnoException).code)) throw error;
	}
	closeSync(spare);
	spare = undefined;
	try {
		return read();
	} finally {
		takeSpare();
	}
}

function takeSpare(): void {
	if (!keeps || spare !== undefined) return;
	try {
		spare = openSync('/dev/null', 'r');
	} catch {
		// Another thread or program was faster; the next who looks tries again.
	}
}
