#!/usr/bin/env node
// Runs the program, part by part as it is needed, with what V8 made of each when it was built, so that it need not be
// compiled again. Another version of Node does not take that, and compiles.
'use strict';
const {readFileSync} = require('node:fs');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {Script} = require('node:vm');

const folder = path.join(__dirname, 'parts');
const ownUrl = pathToFileURL(__filename).href;
const parts = new Map();
// For the build, which writes what V8 made of them.
exports.scripts = new Map();

load('main.js');

function load(name) {
	const known = parts.get(name);
	if (known) return known.exports;
	const filename = path.join(folder, name);
	// One byte per character: the bundler writes nothing but ASCII.
	const source = readFileSync(filename, 'latin1');
	const script = new Script(source, {filename, cachedData: compiled(filename)});
	exports.scripts.set(filename, script);
	const part = {exports: {}};
	parts.set(name, part);
	script.runInThisContext()(requireFromPart, part, ownUrl);
	return part.exports;
}

function requireFromPart(specifier) {
	return specifier.startsWith('./') ? load(specifier.slice(2)) : require(specifier);
}

function compiled(filename) {
	try {
		return readFileSync(`${filename}.cache`);
	} catch {
		return undefined;
	}
}
