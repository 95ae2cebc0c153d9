#!/usr/bin/env node
// Runs the program with what V8 made of it when it was built, so that it need not be compiled again. Another version of
// Node does not take that, and compiles.
'use strict';
const {readFileSync} = require('node:fs');
const path = require('node:path');
const {Script} = require('node:vm');

const filename = path.join(__dirname, 'program.js');
// One byte per character: the bundler writes nothing but ASCII.
const source = readFileSync(filename, 'latin1');
const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
	filename,
	cachedData: codeCache(),
});
// For the build, which writes the cache.
module.exports = script;
script.runInThisContext()(exports, require, module, filename, __dirname);

function codeCache() {
	try {
		return readFileSync(path.join(__dirname, 'program.cache'));
	} catch {
		return undefined;
	}
}
