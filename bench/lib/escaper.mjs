// A program whose processes fork, change their session and exit in a tight loop, so that no look finds one twice.
import {spawnSync} from 'node:child_process';
import {chmodSync, closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync, writeSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {delay, until} from './waiting.mjs';

const SOURCE = new URL('../escapers/escaper.c', import.meta.url).pathname;
/** Two numbers of eight bytes: processes so far, and the process with which they end. */
const FILE_BYTES = 16;
/** No process has this id. */
const NOBODY = 2n ** 30n;
/** Processes that have to be counted before the chain is known to run. */
const STARTED = 10;

/** How the processes of a chain leave each other. */
export const ESCAPER_KINDS = ['sessions', 'daemons', 'groups', 'disguised', 'memory', 'threads', 'programs'];

/** Compiles the program; `open` gives one that can be started. */
export function buildEscaper() {
	const directory = mkdtempSync(join(tmpdir(), 'bench-escapers-'));
	chmodSync(directory, 0o755);
	process.on('exit', () => rmSync(directory, {recursive: true}));
	const program = join(directory, 'escaper');
	const {status, stderr} = spawnSync('cc', ['-O1', '-pthread', '-o', program, SOURCE], {encoding: 'utf8'});
	if (status !== 0) throw new Error(`the escaper was not compiled: ${stderr}`);
	return {open: name => openEscaper(program, join(directory, name))};
}

function openEscaper(program, file) {
	writeFileSync(file, Buffer.alloc(FILE_BYTES));
	chmodSync(file, 0o666);
	const fd = openSync(file, 'r+');
	const endWith = pid => {
		const bytes = Buffer.alloc(8);
		bytes.writeBigInt64LE(pid);
		writeSync(fd, bytes, 0, 8, 8);
	};
	endWith(BigInt(process.pid));
	const count = () => {
		const bytes = Buffer.alloc(8);
		readSync(fd, bytes, 0, 8, 0);
		return bytes.readBigInt64LE();
	};
	return {
		argv: (kind, chains, first) => [program, file, kind, String(chains), first],
		started: () => until(() => count() >= STARTED, {withinMs: 20_000, everyMs: 2}),
		/** Whether a process of the chain runs within this time. */
		async runs(ms) {
			const before = count();
			await delay(ms);
			return count() !== before;
		},
		close() {
			endWith(NOBODY);
			closeSync(fd);
			rmSync(file);
		},
	};
}
