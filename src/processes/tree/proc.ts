// Linux only: reads of /proc that succeed even when the process has run out of file descriptors.
import {closeSync, openSync, readdirSync, readSync} from 'node:fs';

/** Error codes for no file descriptors left: in this process, or in the system. */
const EXHAUSTED_CODES: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE']);

/** Holds most files of /proc; longer ones are read in pieces. */
const READ_BYTES = 64 * 1024;

let isSpareEnabled = false;
let spareFd: number | undefined;
/** Shared by all reads, which are synchronous: Node's own function allocates as much for every file of unknown size. */
let readBuffer: Buffer | undefined;

/** Reserves a file descriptor, so that processes can be found and killed even when no others are left. */
export function keepSpareDescriptor(): void {
	isSpareEnabled = true;
	openSpare();
}

/** The text of a file below `/proc`; throws when the process is gone. */
export function readProc(path: string): string {
	return readWithSpare(() => readWhole(`/proc/${path}`));
}

/** The names in a directory below `/proc`; throws when the process is gone. */
export function listProc(path: string): string[] {
	return readWithSpare(() => readdirSync(`/proc/${path}`));
}

/** The id that was given to a process or thread last, on this machine or in this container; NaN if it is not known. */
export class NewestPid implements Disposable {
	readonly #fd = openLoad();

	read(): number {
		if (this.#fd === undefined) return Number.NaN;
		const text = getBuffer();
		const length = readSync(this.#fd, text, 0, READ_BYTES, 0);
		return Number(text.toString('latin1', text.lastIndexOf(' ', length - 1) + 1, length));
	}

	[Symbol.dispose](): void {
		if (this.#fd !== undefined) closeSync(this.#fd);
	}
}

function openLoad(): number | undefined {
	try {
		return readWithSpare(() => openSync('/proc/loadavg', 'r'));
	} catch {
		return undefined;
	}
}

function getBuffer(): Buffer {
	readBuffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
	return readBuffer;
}

function readWhole(path: string): string {
	const buffer = getBuffer();
	const fd = openSync(path, 'r');
	try {
		let text = '';
		for (let length = readSync(fd, buffer); length > 0; length = readSync(fd, buffer)) {
			text += buffer.toString('latin1', 0, length);
		}
		return text;
	} finally {
		closeSync(fd);
	}
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
