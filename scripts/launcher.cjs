#!/usr/bin/env node
// Runs the program, part by part as it is needed, with what V8 made of each when it was built, so that it need not be
// compiled again. Another version of Node does not take that, and compiles.
'use strict';
const {readFileSync} = require('node:fs');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {Script} = require('node:vm');

// A server is open to other programs of its user from the start: Node would open its debugger at the first of these
// signals, and end at the second. What they mean is decided by the server, once it is loaded.
if (process.argv[2] === 'serve') for (const signal of ['SIGUSR1', 'SIGUSR2']) process.on(signal, () => {});

const CHECKSUM_BYTES = 4;
const folder = path.join(__dirname, 'parts');
const ownUrl = pathToFileURL(__filename).href;
const parts = new Map();
// For the build, which writes what V8 made of them.
exports.scripts = new Map();
exports.checksumOf = checksumOf;

load('main.js');

function load(name) {
	const known = parts.get(name);
	if (known) return known.exports;
	const filename = path.join(folder, name);
	// One byte per character: the bundler writes nothing but ASCII.
	const source = readFileSync(filename, 'latin1');
	const script = new Script(source, {filename, cachedData: compiled(filename, source)});
	exports.scripts.set(filename, script);
	const part = {exports: {}};
	parts.set(name, part);
	try {
		script.runInThisContext()(requireFromPart, part, ownUrl);
	} catch (error) {
		// The next one to ask gets the error again, not a part without members.
		parts.delete(name);
		throw error;
	}
	return part.exports;
}

function requireFromPart(specifier) {
	return specifier.startsWith('./') ? load(specifier.slice(2)) : require(specifier);
}

/** Followed by its checksum in the file. */
function compiled(filename, source) {
	let kept;
	try {
		kept = readFileSync(`${filename}.cache`);
	} catch {
		return undefined;
	}
	const end = kept.length - CHECKSUM_BYTES;
	if (end <= 0) return undefined;
	const cachedData = kept.subarray(0, end);
	return checksumOf(cachedData, source) === kept.readUInt32LE(end) ? cachedData : undefined;
}

/** V8 compares versions, flags and lengths only: damaged data crash it, and those of another source run that source. */
function checksumOf(cachedData, source) {
	const {crc32} = require('node:zlib');
	return crc32(source, crc32(cachedData));
}
