#!/usr/bin/env node
// Physical floors: what the machine, the kernel and bare Node allow, without an exec server in the way.
import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {promises, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {WebSocket, WebSocketServer} from 'ws';
import {scratchFolder} from '../../scripts/lib/scratch-folder.mjs';
import {MIB, timed} from '../lib/measure.mjs';
import {readOptions} from '../lib/options.mjs';
import {printedAddress} from '../lib/printed-address.mjs';
import {format, median, percentile} from '../lib/stats.mjs';
import {markdownTable} from '../lib/tables.mjs';
import {inParallel} from '../lib/waiting.mjs';
import {WebSocketRpc} from './lib/web-socket-rpc.mjs';
import {fixtureTree} from './metrics/fixture-tree.mjs';
import {SIZES} from './metrics/sizes.mjs';

/** A program that hangs ends the run instead of holding it. */
const MAX_NATIVE_MS = 60_000;
const REQUEST = '{"id":1,"method":"environment/status","params":{}}';
const here = name => fileURLToPath(new URL(`floors/${name}`, import.meta.url));
const options = readOptions('Measures what the machine, the kernel and bare Node allow, without an exec server.', {
	reps: {default: 3, help: 'repetitions'},
	json: {default: '', help: 'file for every raw value'},
	native: {default: false, help: 'only those of a C program and of an empty Node program'},
});
const scratch = scratchFolder('floors');
const results = {};
const native = compileNative();
for (let repetition = 0; repetition < options.reps; repetition++) {
	if (native) measureNative();
	measureStarts();
	if (options.native) continue;
	measurePipeline();
	measureSpawns();
	await measureChildOutput();
	measureEncoding();
	await measureEcho();
	for (const bytes of [8192, 65_536])
		record(`load generator ceiling, ${bytes / 1024} KiB chunks`, 'MiB/s', await generatorCeiling(bytes));
	await measureFiles();
}
const rows = Object.entries(results).map(([name, {unit, v}]) => {
	const range = `${format(Math.min(...v))}..${format(Math.max(...v))}`;
	return [name.replace('|', '\\|'), unit, format(median(v)), range];
});
console.log(markdownTable(['floor', 'unit', 'median', 'min..max'], 'llrl', rows));
if (options.json) writeFileSync(options.json, JSON.stringify(results, null, 1));

function record(name, unit, value) {
	results[name] ??= {unit, v: []};
	results[name].v.push(value);
}

/** The value of `amount` per second of `work`. */
function perSecond(amount, work) {
	const began = performance.now();
	work();
	return amount / ((performance.now() - began) / 1000);
}

async function perSecondOf(amount, work) {
	const {ms} = await timed(work);
	return amount / (ms / 1000);
}

function compileNative() {
	const program = join(scratch, 'floors');
	const {status, error, stderr} = spawnSync('cc', ['-O2', '-o', program, here('floors.c'), '-lutil'], {
		encoding: 'utf8',
	});
	if (status === 0) return program;
	const reason = error?.code === 'ENOENT' ? 'there is no cc' : `cc failed: ${error?.message ?? stderr.trim()}`;
	console.error(`the floors of a C program are left out: ${reason}`);
	return undefined;
}

function measureNative() {
	const {small, idle, conns, burst, burstFlight, fsMiB, fsWriteMiB} = SIZES.full;
	const tree = fixtureTree(scratch, SIZES.full);
	const measures = [
		['C posix_spawn /bin/true + wait, p50', 'us', 'spawn', 200],
		[`C posix_spawn, ${burstFlight} at once`, 'proc/s', 'burst', burst, burstFlight],
		[`C kills and waits for ${idle} sleeps`, 'ms', 'stop', idle],
		['C round trip over loopback, p50', 'us', 'round', 3000],
		['C keystroke to cat and back over loopback, p50', 'us', 'keys', 'pipe', 600],
		['C keystroke to cat on a pty and back, p50', 'us', 'keys', 'pty', 600],
		[`C ${conns} connections with two round trips each`, 'ms', 'connect', conns],
		['C sends head from a pipe as base64 would be', 'MiB/s', 'relay', 'pipe', 256],
		['C sends head from a pty as base64 would be', 'MiB/s', 'relay', 'pty', 64],
		['C sends a stream of a peer as base64 would be', 'MiB/s', 'relay', 'socket', 128],
		['C sends a file as base64 would be', 'MiB/s', 'relay', join(tree, 'big'), fsMiB],
		['C receives and writes a file', 'MiB/s', 'store', join(scratch, 'stored'), fsWriteMiB],
		['C open, fstat, read, close of 1 KiB', 'files/s', 'files', join(tree, 'small'), small],
		['C lstat', 'calls/s', 'stat', join(tree, 'small'), small],
		['C lists 5,000 entries', 'ms', 'list', join(tree, 'many')],
		['C walks 5,220 entries', 'ms', 'walk', join(tree, 'tree')],
	];
	for (const [name, unit, ...args] of measures) record(name, unit, runNative(...args)[0]);
	const [pipeRate] = runNative('pipe', 512);
	record('C reads head through a pipe', 'MiB/s', pipeRate);
	const [ptyRate, bytesPerRead, lost] = runNative('pty', 64);
	record('C reads head through a pty', 'MiB/s', ptyRate);
	record('C pty bytes per read', 'B', bytesPerRead);
	record('C pty bytes lost', 'B', lost);
}

function runNative(...args) {
	return execFileSync(native, args.map(String), {encoding: 'utf8', timeout: MAX_NATIVE_MS})
		.trim()
		.split(' ')
		.map(Number);
}

function measurePipeline() {
	const script = `head -c ${512 * MIB} /dev/zero | cat > /dev/null`;
	const rate = perSecond(512, () => spawnSync('/bin/sh', ['-c', script]));
	record('head | cat > /dev/null', 'MiB/s', rate);
}

/** Node forks, so the cost of a spawn depends on the memory of the process: each size in a fresh one. */
function measureSpawns() {
	for (const mebibytes of [0, 100, 300]) {
		const output = execFileSync(process.execPath, [here('spawn-cost.cjs'), String(mebibytes)], {encoding: 'utf8'});
		const {p50, block, rate} = JSON.parse(output);
		record(`Node spawn /bin/true to close, p50, heap +${mebibytes} MiB`, 'us', p50);
		record(`Node spawn() blocks the loop for, heap +${mebibytes} MiB`, 'us', block);
		if (mebibytes === 0) record('Node spawn, 32 at once', 'proc/s', rate);
	}
}

async function measureChildOutput() {
	let bytes = 0;
	let events = 0;
	const began = performance.now();
	const child = spawn('head', ['-c', String(256 * MIB), '/dev/zero'], {stdio: ['ignore', 'pipe', 'ignore']});
	child.stdout.on('data', data => {
		bytes += data.length;
		events++;
	});
	await once(child, 'close');
	record('Node reads head through its socketpair', 'MiB/s', bytes / MIB / ((performance.now() - began) / 1000));
	record('Node bytes per data event', 'B', bytes / events);
}

function measureEncoding() {
	const chunk = Buffer.alloc(65_536, 1);
	const frame = Buffer.allocUnsafe(100_000);
	const intoFrame = perSecond(256, () => {
		for (let count = 0; count < 4096; count++) frame.latin1Write(chunk.base64Slice(0, chunk.length), 100);
	});
	record('Node base64 of 64 KiB chunks into a frame', 'MiB/s', intoFrame);
	const asJson = perSecond(64, () => {
		for (let seq = 0; seq < 1024; seq++) {
			const params = {processId: 'p', seq, stream: 'stdout', chunk: chunk.toString('base64')};
			Buffer.from(JSON.stringify({method: 'process/output', params}));
		}
	});
	record('Node the same through JSON.stringify', 'MiB/s', asJson);
	const text = chunk.toString('base64');
	const decoded = perSecond(64, () => {
		for (let count = 0; count < 1024; count++) Buffer.from(text, 'base64');
	});
	record('Node base64 decode', 'MiB/s', decoded);
}

function measureStarts() {
	const cwd = fileURLToPath(new URL('.', import.meta.url));
	for (const script of ['0', "require('ws')"]) {
		const times = Array.from({length: 5}, () => {
			const began = performance.now();
			spawnSync(process.execPath, ['-e', script], {cwd});
			return performance.now() - began;
		});
		record(`node -e ${script}`, 'ms', median(times));
	}
}

async function measureEcho() {
	const server = new WebSocketServer({port: 0, host: '127.0.0.1', perMessageDeflate: false});
	server.on('connection', peer => peer.on('message', (data, binary) => peer.send(data, {binary})));
	await once(server, 'listening');
	const socket = new WebSocket(`ws://127.0.0.1:${server.address().port}`, {perMessageDeflate: false});
	await once(socket, 'open');
	const times = [];
	for (let count = -500; count < 2500; count++) {
		const began = performance.now();
		const echoed = new Promise(resolve => socket.once('message', resolve));
		socket.send(REQUEST);
		await echoed;
		if (count >= 0) times.push((performance.now() - began) * 1000);
	}
	record('ws library echo in one process, p50', 'us', percentile(times, 50));
	socket.terminate();
	server.close();
}

/** MiB/s the client takes from a process that sends ready-made frames. */
async function generatorCeiling(chunkBytes) {
	const source = spawn(process.execPath, [here('frame-source.cjs'), String(chunkBytes)], {
		stdio: ['pipe', 'pipe', 'inherit'],
	});
	try {
		const client = await WebSocketRpc.connect(await printedAddress(source));
		let bytes = 0;
		let first = 0;
		let last = 0;
		const output = (_params, size) => {
			if (bytes === 0) first = performance.now();
			bytes += size;
			last = performance.now();
		};
		client.processes.set('p', {output, abort() {}});
		await new Promise(resolve => {
			client.onClosed = resolve;
		});
		return bytes / MIB / ((last - first) / 1000);
	} finally {
		source.stdin.end();
	}
}

async function measureFiles() {
	const large = join(scratch, 'large');
	writeFileSync(large, Buffer.alloc(64 * MIB, 1));
	record(
		'readFileSync 64 MiB',
		'MiB/s',
		perSecond(64, () => readFileSync(large)),
	);
	record('promises.readFile 64 MiB', 'MiB/s', await perSecondOf(64, () => promises.readFile(large)));
	const small = join(scratch, 'small');
	writeFileSync(small, Buffer.alloc(1024, 1));
	const synchronous = perSecond(2000, () => {
		for (let count = 0; count < 2000; count++) readFileSync(small);
	});
	record('readFileSync 1 KiB', 'files/s', synchronous);
	const parallel = await perSecondOf(2000, () => inParallel(2000, 16, () => promises.readFile(small)));
	record('promises.readFile 1 KiB, 16 at once', 'files/s', parallel);
}
