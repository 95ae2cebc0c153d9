import {closeSync, constants, fdatasyncSync, fstatSync, openSync, readSync, statSync, writeSync} from 'node:fs';
import {dirname} from 'node:path';
import {findLockFile} from '../../processes/spill/file-calls.js';
import {closeAfterFailure, openRegularFile, replaceFile} from '../../processes/spill/state-files.js';
import {errorMessage} from '../../shared/errors.js';
import {findIntegrityFault} from '../../shared/node/private-file.js';

/** Longest line that is a record; a longer one is skipped. */
export const MAX_LINE_RECORD_BYTES = 64 * 1024;
/** Bytes that are read at once. */
const BLOCK_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;
const ROOT = 0;
/** How long another program may hold the lock of a file, and how often it is tried. */
const LOCK_TIMEOUT_MS = 10_000;
const LOCK_POLL_MS = 5;
const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/** A line that is skipped: it is no record. */
export interface BadLine {
	readonly path: string;
	/** Counted from 1. */
	readonly line: number;
	readonly reason: string;
}

/**
 * Calls `take` for every record of a file of JSON lines, in the order they were written. A line that `take` rejects, or that
 * is too long, is reported and skipped: one bad line must not make all others unusable. A last line without its end is being
 * written, or was when a program crashed.
 */
export function readRecords(path: string, take: (record: unknown) => void, onBadLine: (bad: BadLine) => void): void {
	const fd = openRegularFile(path, 'read');
	try {
		requireIntegrity(fd, path);
		let number = 0;
		for (const line of linesOf(fd)) {
			number++;
			if (line?.length === 0) continue;
			try {
				if (!line) throw new Error(`it is longer than ${MAX_LINE_RECORD_BYTES} bytes`);
				take(JSON.parse(line.toString('utf8')));
			} catch (error) {
				onBadLine({path, line: number, reason: errorMessage(error)});
			}
		}
	} finally {
		closeSync(fd);
	}
}

/** Refuses a file that others can write to: they could add tokens and machines of their own. */
function requireIntegrity(fd: number, path: string): void {
	const stats = fstatSync(fd);
	// The hub has checked whose directory it is; an administrator may also edit the tokens of a hub of another user.
	const owners = [process.geteuid?.(), ROOT, statSync(dirname(path)).uid];
	const fault = owners.includes(stats.uid) ? findIntegrityFault(stats, path) : 'it belongs to another user';
	if (fault !== undefined) throw new Error(`${path} cannot be trusted: ${fault}`);
}

/** Every whole line of a file; undefined for one that is too long. */
function* linesOf(fd: number): Generator<Buffer | undefined> {
	const block = Buffer.alloc(BLOCK_BYTES);
	let rest: Buffer = Buffer.alloc(0);
	let isTooLong = false;
	for (let position = 0; ; ) {
		const count = readSync(fd, block, 0, block.length, position);
		if (count === 0) return;
		position += count;
		let start = 0;
		for (let end = block.indexOf(LINE_FEED); end !== -1 && end < count; end = block.indexOf(LINE_FEED, start)) {
			const line = Buffer.concat([rest, block.subarray(start, end)]);
			yield isTooLong || line.length > MAX_LINE_RECORD_BYTES ? undefined : line;
			rest = Buffer.alloc(0);
			isTooLong = false;
			start = end + 1;
		}
		rest = Buffer.concat([rest, block.subarray(start, count)]);
		if (rest.length > MAX_LINE_RECORD_BYTES) {
			isTooLong = true;
			rest = Buffer.alloc(0);
		}
	}
}

/** An append-only file of JSON lines that several programs may append to. */
export class RecordFile {
	readonly #path: string;
	#fd: number;

	/** Creates the file if it is missing. */
	constructor(path: string) {
		this.#path = path;
		this.#fd = openForAppending(path);
	}

	/**
	 * Waits until no other program holds the lock of the file, and holds it until the file is closed. Where the system has no
	 * such locks, appends of one line each still do not mix.
	 */
	lock(): void {
		const lockFile = findLockFile() ?? (() => true);
		const deadline = performance.now() + LOCK_TIMEOUT_MS;
		while (!lockFile(this.#fd)) {
			if (performance.now() >= deadline)
				throw new Error(`${this.#path} has been locked by another program for too long`);
			Atomics.wait(SLEEPER, 0, 0, LOCK_POLL_MS);
		}
	}

	/** Bytes of the file. */
	get size(): number {
		return fstatSync(this.#fd).size;
	}

	/** On disk when it returns. The kernel appends one line after the other, whoever writes them. */
	append(record: object): void {
		const line = Buffer.from(`${JSON.stringify(record)}\n`);
		// A line that was cut by a crash or a full disk is ended first, or it would take this one with it.
		const whole = this.#endsWithinLine() ? Buffer.concat([Buffer.from([LINE_FEED]), line]) : line;
		const written = writeSync(this.#fd, whole);
		if (written < whole.length) throw new Error(`${this.#path}: only ${written} of ${whole.length} bytes were written`);
		fdatasyncSync(this.#fd);
	}

	/** Replaces all records in one step. */
	rewrite(records: Iterable<object>): void {
		replaceFile(this.#path, linesFor(records));
		const next = openForAppending(this.#path);
		closeSync(this.#fd);
		this.#fd = next;
	}

	close(): void {
		closeSync(this.#fd);
	}

	#endsWithinLine(): boolean {
		const {size} = this;
		const last = Buffer.alloc(1);
		return size > 0 && readSync(this.#fd, last, 0, 1, size - 1) === 1 && last[0] !== LINE_FEED;
	}
}

/** Pieces of some records each: all of them could be longer than a string can be. */
function* linesFor(records: Iterable<object>): Generator<string> {
	let piece = '';
	for (const record of records) {
		piece += `${JSON.stringify(record)}\n`;
		if (piece.length < BLOCK_BYTES) continue;
		yield piece;
		piece = '';
	}
	yield piece;
}

function openForAppending(path: string): number {
	// The first one creates the file for its owner alone, and checks what it is.
	closeSync(openRegularFile(path, 'create'));
	const fd = openSync(path, constants.O_RDWR | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0));
	return closeAfterFailure(fd, () => {
		if (!fstatSync(fd).isFile()) throw new Error(`${path} is not a regular file`);
		requireIntegrity(fd, path);
		return fd;
	});
}
