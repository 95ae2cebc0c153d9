// Runs the built command once with the given arguments, and keeps what V8 compiled on the way for the next start.
//   node scripts/write-code-cache.cjs serve --listen ws://127.0.0.1:0
// A server is greeted once and then left.
'use strict';
const fs = require('node:fs');
const {readFileSync, renameSync, writeFileSync} = fs;
const path = require('node:path');
const {setFlagsFromString} = require('node:v8');
const {Script} = require('node:vm');
const {WebSocket} = require('ws');

const program = path.join(__dirname, '../dist/bin/longarm.js');
process.argv = [process.execPath, program, ...process.argv.slice(2)];
process.stdout.write = () => true;
const {writeSync} = fs;
fs.writeSync = (descriptor, data, ...rest) => {
	if (descriptor !== 1 || process.argv[2] !== 'serve') return writeSync(descriptor, data, ...rest);
	greet(data.trim());
	return data.length;
};
let scripts;
let checksumOf;
process.on('exit', () => {
	// Those of a start, not those of a running server: V8 takes a cache only under the flags it was made with.
	setFlagsFromString('--semi-space-growth-factor=2');
	for (const [filename, script] of scripts) keep(filename, script.createCachedData());
});
({scripts, checksumOf} = require(program));

function greet(url) {
	const socket = new WebSocket(url);
	socket.on('open', () => socket.send('{"id":1,"method":"initialize","params":{"clientName":"build"}}'));
	socket.on('message', () => process.exit(0));
}

function keep(filename, cachedData) {
	const source = readFileSync(filename, 'latin1');
	const {cachedDataRejected} = new Script(source, {filename, cachedData});
	if (cachedDataRejected) throw new Error(`what V8 made of ${path.basename(filename)} is not taken`);
	const checksum = Buffer.alloc(4);
	checksum.writeUInt32LE(checksumOf(cachedData, source));
	// In one step: half a cache is none.
	writeFileSync(`${filename}.cache.new`, Buffer.concat([cachedData, checksum]));
	renameSync(`${filename}.cache.new`, `${filename}.cache`);
}
