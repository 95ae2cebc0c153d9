import {spawnSync} from 'node:child_process';
import {constants, mkdtempSync, openSync, rmSync} from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

/** Named pipes made at a time. */
const BATCH = 64;
const free = [];
let folder;
let made = 0;

process.on('exit', () => {
	if (folder) rmSync(folder, {recursive: true, force: true});
});

/** A pipe with a name, which is used again once its reader has seen the end (no writer is left then). */
export function openFifo() {
	if (free.length === 0) makeMore();
	const name = free.pop();
	const reader = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
	const writer = openSync(name, constants.O_WRONLY);
	return {
		writer,
		openReader() {
			const stream = new net.Socket({fd: reader, readable: true, writable: false});
			stream.on('end', () => free.push(name));
			return stream;
		},
	};
}

function makeMore() {
	folder ??= mkdtempSync(path.join(os.tmpdir(), 'floor-'));
	const names = Array.from({length: BATCH}, () => path.join(folder, String(made++)));
	spawnSync('mkfifo', ['-m', '600', ...names]);
	free.push(...names);
}
