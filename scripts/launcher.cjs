#!/usr/bin/env node
// Runs the program, part by part as it is needed, with what V8 made of each at an earlier run, so that it need not be
// compiled again. That lies beside the program, and is written by its owner only.
'use strict';
const {closeSync, constants, fstatSync, openSync, readFileSync, statSync} = require('node:fs');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {Script} = require('node:vm');

// A server is open to other programs of its user from the start: Node would open its debugger at the first of these
// signals, and end at the second. What they mean is decided by the server, once it is loaded.
if (process.argv[2] === 'serve') for (const signal of ['SIGUSR1', 'SIGUSR2']) process.on(signal, () => {});

const CHECKSUM_BYTES = 4;
const WRITABLE_BY_OTHERS = 0o022;
const ROOT = 0;
const folder = path.join(__dirname, 'parts');
const ownUrl = pathToFileURL(__filename).href;
const user = process.geteuid?.();
const folderStats = statSync(folder);
const mayTrust = isPrivate(folderStats);
// Root leaves nothing in a folder of another user. V8 takes a cache only under the flags it was made with: none.
const mayKeep =
	mayTrust &&
	(user === undefined || user === folderStats.uid) &&
	process.execArgv.length === 0 &&
	!process.env.NODE_OPTIONS;
/** Of files: a function, or an object of functions. */
const values = new Map();
const parts = new Map();
// For the file that keeps what V8 made of them: script, source and size of the cache that was taken, by name of a file.
exports.scripts = new Map();
exports.checksumOf = checksumOf;
exports.cachePathOf = cachePathOf;
exports.flushCode = flushCode;
let isKeeping = false;
let isAnyTaken = false;

requireFromPart.resolve = require.resolve;
load('main.js');

/** `FILE` or, of a file with several parts, `FILE#PART`. */
function load(name) {
	const known = parts.get(name);
	if (known) return known.exports;
	const run = functionOf(name);
	const part = {exports: {}};
	parts.set(name, part);
	try {
		run(requireFromPart, part, ownUrl);
	} catch (error) {
		// The next one to ask gets the error again, not a part without members.
		parts.delete(name);
		throw error;
	}
	return part.exports;
}

function functionOf(name) {
	const [file, part = file] = name.split('#');
	let value = values.get(file);
	if (value === undefined) {
		value = compile(path.join(folder, file)).runInThisContext();
		values.set(file, value);
	}
	if (typeof value === 'function') return value;
	if (!value[part]) throw new Error(`${file} has no ${part}: another version of the program lies in its place`);
	return value[part];
}

function compile(filename) {
	const bytes = readFileSync(filename);
	// One byte per character: the bundler writes nothing but ASCII.
	const source = bytes.toString('latin1');
	const cachedData = mayTrust ? compiled(filename, bytes) : undefined;
	if (isKeeping) flushCode(true);
	const script = new Script(source, {filename, cachedData});
	if (isKeeping) flushCode(false);
	const isTaken = cachedData !== undefined && !script.cachedDataRejected;
	exports.scripts.set(filename, {script, source, cachedBytes: isTaken ? cachedData.length : 0});
	// A server changes flags of V8 while it runs: what V8 rejects then is good for the next start.
	if (!isTaken && (cachedData === undefined || !isAnyTaken)) keepAtExit();
	isAnyTaken ||= isTaken;
	return script;
}

function requireFromPart(specifier) {
	return specifier.startsWith('./') ? load(specifier.slice(2)) : require(specifier);
}

/** Followed by its checksum in the file. */
function compiled(filename, bytes) {
	let kept;
	try {
		kept = readPrivate(cachePathOf(filename));
	} catch {
		return undefined;
	}
	const end = kept.length - CHECKSUM_BYTES;
	if (end <= 0) return undefined;
	const cachedData = kept.subarray(0, end);
	return checksumOf(cachedData, bytes) === kept.readUInt32LE(end) ? cachedData : undefined;
}

/** V8 runs what it is given: only a file that nobody but root and this user can have written is read. */
function readPrivate(filename) {
	const fd = openSync(filename, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
	try {
		const stats = fstatSync(fd);
		if (!stats.isFile() || !isPrivate(stats)) throw new Error('written by others');
		return readFileSync(fd);
	} finally {
		closeSync(fd);
	}
}

/** Systems without users have no owners and modes to compare. */
function isPrivate({uid, mode}) {
	return user === undefined || ((uid === user || uid === ROOT) && (mode & WRITABLE_BY_OTHERS) === 0);
}

/** Another version of Node does not take it. */
function cachePathOf(filename) {
	return `${filename}.${process.version}-${process.arch}.cache`;
}

/** V8 compares versions, flags and lengths only: damaged data crash it, and those of another source run that source. */
function checksumOf(cachedData, bytes) {
	const {crc32} = require('node:zlib');
	return crc32(bytes, crc32(cachedData));
}

/** V8 drops the code of functions that did not run for a while; what is kept has them all. Caches are of the default. */
function flushCode(isOn) {
	require('node:v8').setFlagsFromString(isOn ? '--flush-bytecode' : '--no-flush-bytecode');
}

function keepAtExit() {
	if (isKeeping || !mayKeep) return;
	try {
		flushCode(false);
	} catch {
		// A runtime without V8.
		return;
	}
	isKeeping = true;
	process.on('exit', () => {
		try {
			require('./keep-compiled.js')(exports);
		} catch {
			// Read-only, full, or gone: the next start compiles again.
		}
	});
}
