// Linux only: getdents64.
import fs from 'node:fs';
import {endianness} from 'node:os';
import {isKoffiLoaded, loadKoffi} from '../shared/node/koffi.js';
import {type BytePath, toFsPath} from './byte-path.js';
import {isFdPath} from './no-follow.js';
import {mayBeProc, mayBeUnnamed} from './own-process.js';

/** Entries as the kernel writes them, some thousand. More of them are left to Node, which sorts them sooner. */
const MAX_RAW_BYTES = 64 * 1024;
/** Room the kernel needs for the entry with the longest name. */
const MAX_ENTRY_BYTES = 1024;
/** Size of the entry with the shortest name. */
const MIN_ENTRY_BYTES = 24;
/** Places in `struct linux_dirent64`. */
const LENGTH_AT = 16;
const TYPE_AT = 18;
const NAME_AT = 19;
const DOT = 0x2e;
/** Values an index may have in the lower bits of a sort key; with the four bytes above it stays below 2^53. */
const INDEX_RANGE = 0x1_0000;

/** Values of `d_type`. */
export const RAW_DIRECTORY = 4;
export const RAW_FILE = 8;
export const RAW_LINK = 10;
/** A FIFO, devices, a socket, and the ones above: of others only the inode tells. */
const KNOWN_TYPES: ReadonlySet<number> = new Set([1, 2, RAW_DIRECTORY, 6, RAW_FILE, RAW_LINK, 12]);

const OPEN_FOR_LISTING = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY;

/** The entries of a directory by name in the order of bytes, in memory that is used again after `releaseRawEntries`. */
export class RawEntries {
	/** Holds the names, each ended by a zero. */
	readonly bytes: Buffer = Buffer.allocUnsafeSlow(MAX_RAW_BYTES);
	readonly #starts = new Uint32Array(MAX_RAW_BYTES / MIN_ENTRY_BYTES);
	readonly #sorted = new Uint32Array(MAX_RAW_BYTES / MIN_ENTRY_BYTES);
	readonly #keys = new Float64Array(MAX_RAW_BYTES / MIN_ENTRY_BYTES);
	#count = 0;

	get count(): number {
		return this.#count;
	}

	/** Where a name begins in `bytes`. */
	startOf(index: number): number {
		return this.#sorted[index]!;
	}

	/** The `d_type` of the entry whose name begins there. */
	typeAt(start: number): number {
		return this.bytes[start - (NAME_AT - TYPE_AT)]!;
	}

	/** Where the zero behind a name is. */
	endOf(start: number): number {
		const {bytes} = this;
		let end = start;
		while (bytes[end] !== 0) end++;
		return end;
	}

	/** A name as a binary string. */
	nameAt(start: number): string {
		return this.bytes.toString('latin1', start, this.endOf(start));
	}

	/** Reads all entries of an open directory; false if they are too many, or the kernel does not tell what one of them is. */
	read(fd: number, getdents: Getdents): boolean {
		let length = 0;
		for (;;) {
			if (MAX_RAW_BYTES - length < MAX_ENTRY_BYTES) return false;
			const target = length === 0 ? this.bytes : this.bytes.subarray(length);
			const read = getdents(fd, target, MAX_RAW_BYTES - length);
			if (read < 0) return false;
			if (read === 0) break;
			length += read;
		}
		if (!this.#locate(length)) return false;
		this.#sort();
		return true;
	}

	#locate(length: number): boolean {
		const {bytes} = this;
		const starts = this.#starts;
		let count = 0;
		for (let at = 0; at < length; at += bytes[at + LENGTH_AT]! | (bytes[at + LENGTH_AT + 1]! << 8)) {
			const start = at + NAME_AT;
			if (isDots(bytes, start)) continue;
			if (!KNOWN_TYPES.has(bytes[at + TYPE_AT]!)) return false;
			starts[count++] = start;
		}
		this.#count = count;
		return true;
	}

	/** By the four bytes behind what all names begin with, and where these are equal by the rest. */
	#sort(): void {
		const {bytes} = this;
		const [starts, sorted, count] = [this.#starts, this.#sorted, this.#count];
		const common = commonLength(bytes, starts, count);
		for (let index = 0; index < count; index++) {
			this.#keys[index] = fourBytes(bytes, starts[index]! + common) * INDEX_RANGE + index;
		}
		const keys = this.#keys.subarray(0, count).sort();
		let runStart = 0;
		let runKey = -1;
		for (let index = 0; index < count; index++) {
			const key = Math.floor(keys[index]! / INDEX_RANGE);
			sorted[index] = starts[keys[index]! - key * INDEX_RANGE]!;
			if (key === runKey) continue;
			sortRun(bytes, sorted, runStart, index);
			runStart = index;
			runKey = key;
		}
		sortRun(bytes, sorted, runStart, count);
	}
}

/** Memory of a listing that is over. */
let unused: RawEntries | undefined;

type Getdents = (fd: number, target: Uint8Array, length: number) => number;

/**
 * Reads a directory with synchronous calls. The descriptor that is looked at is the one that is listed, whatever is put
 * in the place of the path. Undefined where Node has to list it: if koffi is not loaded for something else, for a directory
 * with many entries or below `/proc`, and for all that fails, so that errors are those of `listDirectory`.
 */
export function readRawEntries(path: BytePath): RawEntries | undefined {
	const getdents = loadGetdents();
	if (!getdents || isFdPath(path)) return undefined;
	const fd = openForListing(path);
	if (fd === undefined) return undefined;
	const entries = unused ?? new RawEntries();
	unused = undefined;
	try {
		const stats = fs.fstatSync(fd);
		const mayBeOwn = mayBeProc(stats) || mayBeUnnamed(stats);
		if (!mayBeOwn && stats.size <= MAX_RAW_BYTES && entries.read(fd, getdents)) return entries;
		releaseRawEntries(entries);
		return undefined;
	} finally {
		fs.closeSync(fd);
	}
}

/** Ends the use of a listing. */
export function releaseRawEntries(entries: RawEntries): void {
	unused = entries;
}

function openForListing(path: BytePath): number | undefined {
	try {
		return fs.openSync(toFsPath(path), OPEN_FOR_LISTING);
	} catch {
		return undefined;
	}
}

let loaded: {readonly getdents: Getdents | undefined} | undefined;

function loadGetdents(): Getdents | undefined {
	if (!loaded && !isKoffiLoaded()) return undefined;
	loaded ??= {getdents: findGetdents()};
	return loaded.getdents;
}

function findGetdents(): Getdents | undefined {
	if (process.platform !== 'linux' || endianness() !== 'LE') return undefined;
	try {
		const signature = 'long getdents64(int fd, void *target, unsigned long length)';
		return loadKoffi().load(null).func(signature) as Getdents;
	} catch {
		return undefined;
	}
}

/** True for `.` and `..`. */
function isDots(bytes: Uint8Array, start: number): boolean {
	if (bytes[start] !== DOT) return false;
	return bytes[start + 1] === 0 || (bytes[start + 1] === DOT && bytes[start + 2] === 0);
}

/** Length of the beginning that all names share. */
function commonLength(bytes: Uint8Array, starts: Uint32Array, count: number): number {
	const first = starts[0]!;
	let length = MAX_ENTRY_BYTES;
	for (let index = 1; index < count; index++) {
		const start = starts[index]!;
		let same = 0;
		while (same < length && bytes[first + same] === bytes[start + same] && bytes[first + same] !== 0) same++;
		length = same;
	}
	return count > 1 ? length : 0;
}

/** The next bytes of a name as a number that orders like them; a name that ends comes before one that goes on. */
function fourBytes(bytes: Uint8Array, start: number): number {
	let value = 0;
	let at = start;
	for (let digit = 0; digit < 4; digit++) value = value * 256 + (bytes[at] === 0 ? 0 : bytes[at++]!);
	return value;
}

function sortRun(bytes: Uint8Array, sorted: Uint32Array, from: number, to: number): void {
	if (to - from < 2) return;
	const run = Array.from(sorted.subarray(from, to)).sort((one, other) => compareNames(bytes, one, other));
	sorted.set(run, from);
}

function compareNames(bytes: Uint8Array, one: number, other: number): number {
	let at = 0;
	while (bytes[one + at] === bytes[other + at] && bytes[one + at] !== 0) at++;
	return bytes[one + at]! - bytes[other + at]!;
}
