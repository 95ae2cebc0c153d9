// Keeps what V8 compiled in this run for the next start, beside the program. Without it everything works, a little later.
'use strict';
const {renameSync, rmSync, writeFileSync} = require('node:fs');
const {setFlagsFromString} = require('node:v8');

const CACHE_MODE = 0o644;

/** Throws where nothing can be written. */
module.exports = function keepCompiled({scripts, checksumOf, cachePathOf, flushCode}) {
	// Flags of a start, not those of a running server.
	setFlagsFromString('--semi-space-growth-factor=2');
	flushCode(true);
	for (const [filename, {script, source, cachedBytes}] of scripts) {
		const cachedData = script.createCachedData();
		// One that was taken holds functions of other runs: only what has more takes its place.
		if (cachedData.length <= cachedBytes) continue;
		const checksum = Buffer.alloc(4);
		// Of the source that was compiled: another version may lie there by now.
		checksum.writeUInt32LE(checksumOf(cachedData, Buffer.from(source, 'latin1')));
		replace(cachePathOf(filename), Buffer.concat([cachedData, checksum]));
	}
};

/** In one step: half a cache is none. */
function replace(filename, data) {
	const temporary = `${filename}.${process.pid}.new`;
	try {
		writeFileSync(temporary, data, {flag: 'wx', mode: CACHE_MODE});
		renameSync(temporary, filename);
	} catch (error) {
		rmSync(temporary, {force: true});
		throw error;
	}
}
