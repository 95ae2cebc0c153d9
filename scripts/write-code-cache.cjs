// Runs a command with the built program here, starts its server and runs one there, and keeps what V8 compiled on the way
// for the next start.
//   node scripts/write-code-cache.cjs
'use strict';
const {renameSync, writeFileSync} = require('node:fs');
const path = require('node:path');

const folder = path.join(__dirname, '../dist/bin');
const launcher = path.join(folder, 'longarm.js');
const program = path.join(folder, 'program.js');
const exit = process.exit.bind(process);

process.argv = [process.execPath, launcher, 'run', '--', 'true'];
whenOver(serve);
const script = require(launcher);

function serve() {
	process.stdout.write = text => {
		runThere(String(text).trim());
		return true;
	};
	runAgain('serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'error');
}

function runThere(url) {
	whenOver(keep);
	runAgain('run', '-e', url, '--', 'true');
}

function keep() {
	// In one step: half a cache is none.
	const file = path.join(folder, 'program.cache');
	writeFileSync(`${file}.new`, script.createCachedData());
	renameSync(`${file}.new`, file);
	exit(0);
}

/** The program ends itself, once or several times over. */
function whenOver(next) {
	let isOver = false;
	process.exit = code => {
		if (isOver) return;
		isOver = true;
		if (code !== 0) exit(1);
		next();
	};
}

/** What is compiled belongs to the script, however often that runs. */
function runAgain(...args) {
	process.argv = [process.execPath, launcher, ...args];
	const own = {exports: {}};
	script.runInThisContext()(own.exports, require, own, program, folder);
}
