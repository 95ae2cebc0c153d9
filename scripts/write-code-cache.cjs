// Starts the built server, shakes hands with it once, and keeps what V8 compiled on the way for the next start.
//   node scripts/write-code-cache.cjs
'use strict';
const {renameSync, writeFileSync} = require('node:fs');
const path = require('node:path');
const {WebSocket} = require('ws');

const folder = path.join(__dirname, '../dist/bin');
const program = path.join(folder, 'longarm.js');
process.argv = [process.execPath, program, 'serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'error'];
process.stdout.write = text => {
	greet(String(text).trim());
	return true;
};
const script = require(program);

function greet(url) {
	const socket = new WebSocket(url);
	socket.on('open', () => socket.send('{"id":1,"method":"initialize","params":{"clientName":"build"}}'));
	socket.on('message', () => {
		// In one step: half a cache is none.
		const file = path.join(folder, 'program.cache');
		writeFileSync(`${file}.new`, script.createCachedData());
		renameSync(`${file}.new`, file);
		process.exit(0);
	});
}
