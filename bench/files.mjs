// What the server promises about bulk: files in blocks, trees as one stream, bodies of HTTP responses. Checksums and
// memory are checked against the built command.
//   node bench/files.mjs [blocks] [tree] [http]      all three without arguments; ends with a table, exit 1 on a broken promise
import {createHash, randomFillSync} from 'node:crypto';
import {closeSync, createReadStream, mkdtempSync, openSync, rmSync, writeSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {connect} from './lib/client.mjs';
import {rssOf} from './lib/observe.mjs';
import {finish} from './lib/report.mjs';
import {startServer} from './lib/server.mjs';
import {digestOfTree, makeTree} from './lib/trees.mjs';
import {delay} from './lib/waiting.mjs';

const MiB = 1024 * 1024;
const BLOCK = MiB;
/** Blocks on their way at once. */
const WINDOW = 4;
const GROWTH_MIB = 64;
const SAMPLE_MS = 50;
const FILE_BYTES = 2048 * MiB;
const TREE_FILES = 20_000;
const BODY_BYTES = 10 * 1024 * MiB;
const SCENARIOS = {blocks, tree, http};

const chosen = process.argv.slice(2);
const rows = [];
const scratch = mkdtempSync(join(tmpdir(), 'longarm-files-'));
process.on('exit', () => rmSync(scratch, {recursive: true, force: true}));
for (const name of chosen.length > 0 ? chosen : Object.keys(SCENARIOS)) {
	if (!SCENARIOS[name]) throw new Error(`unknown scenario ${name}; known are ${Object.keys(SCENARIOS).join(', ')}`);
	const server = await startServer();
	try {
		for (const [what, value, ok] of await SCENARIOS[name](server)) rows.push([name, what, value, ok]);
	} finally {
		await server.stop();
	}
}
finish(rows);

/** A large file read to its end and written anew, block by block. */
async function blocks({url, pid}) {
	const [source, target] = [join(scratch, 'source'), join(scratch, 'target')];
	const original = makeFile(source, FILE_BYTES);
	const client = await connect(url);
	await client.call('fs/readFile', {path: uri(new URL(import.meta.url).pathname)});
	const memory = watchMemory(pid);
	await client.call('fs/open', {handleId: 'r', path: uri(source)});
	const hash = createHash('sha256');
	const reading = await timed(() => readBlocks(client, 'r', chunk => hash.update(chunk)));
	const read = hash.digest('hex');
	const readGrowth = memory.stop();
	const writeMemory = watchMemory(pid);
	await client.call('fs/close', {handleId: 'r'});
	await client.call('fs/open', {handleId: 'w', path: uri(target), mode: 'replace'});
	const writing = await timed(() => writeBlocks(client, 'w', createReadStream(source, {highWaterMark: BLOCK})));
	await client.call('fs/close', {handleId: 'w'});
	const {most} = writeMemory.stop();
	const {before} = readGrowth;
	const written = await sha256Of(createReadStream(target));
	return [
		['bytes read / of', `${reading.result} / ${FILE_BYTES}`, reading.result === FILE_BYTES],
		['sha256 of what was read', read === original ? 'the same' : read, read === original],
		['sha256 of what was written', written === original ? 'the same' : written, written === original],
		['MiB/s read / written', `${rate(FILE_BYTES, reading)} / ${rate(FILE_BYTES, writing)}`, true],
		[
			'RSS before / most while read / most while written, MiB',
			`${before} / ${readGrowth.most} / ${most}`,
			Math.max(most, readGrowth.most) - before < GROWTH_MIB,
		],
	];
}

/** A tree of many files as one stream: here, and there again. */
async function tree({url, pid}) {
	const [source, target] = [join(scratch, 'tree'), join(scratch, 'twin')];
	makeTree(source, TREE_FILES);
	const client = await connect(url);
	await client.call('fs/readFile', {path: uri(new URL(import.meta.url).pathname)});
	const memory = watchMemory(pid);
	const archive = openSync(join(scratch, 'archive.tar'), 'w');
	const totals = await client.call('fs/pack', {handleId: 'p', path: uri(source)});
	let lastTold = {};
	let steps = 0;
	const packing = await timed(() =>
		readBlocks(client, 'p', (chunk, {progress}) => {
			writeSync(archive, chunk);
			steps += progress && progress.entries !== lastTold.entries ? 1 : 0;
			lastTold = progress ?? lastTold;
		}),
	);
	closeSync(archive);
	const packed = await client.call('fs/finish', {handleId: 'p'});
	await client.call('fs/unpack', {handleId: 'u', path: uri(target)});
	const stream = createReadStream(join(scratch, 'archive.tar'), {highWaterMark: BLOCK});
	const unpacking = await timed(() => writeBlocks(client, 'u', stream));
	const unpacked = await client.call('fs/finish', {handleId: 'u', sha256: packed.sha256});
	const growth = memory.stop();
	const [one, other] = [digestOfTree(source), digestOfTree(target)];
	const complete = packed.entries === totals.entries && unpacked.entries === totals.entries;
	return [
		['entries announced / packed / unpacked', `${totals.entries} / ${packed.entries} / ${unpacked.entries}`, complete],
		[
			'things left behind',
			packed.errors.length + unpacked.errors.length,
			packed.errors.length + unpacked.errors.length === 0,
		],
		['sha256 over all names, modes and contents', one === other ? 'the same' : `${one} / ${other}`, one === other],
		['progress told on the way', `${steps} times`, steps > 1],
		['seconds there / back', `${packing.seconds.toFixed(1)} / ${unpacking.seconds.toFixed(1)}`, true],
		['RSS before / most, MiB', `${growth.before} / ${growth.most}`, growth.most - growth.before < GROWTH_MIB],
	];
}

/** An origin that has 10 GiB to say, and a client that stops listening for a while. */
async function http({url, pid}) {
	const piece = Buffer.alloc(MiB, 'longarm\n');
	let sent = 0;
	const origin = createServer((_request, response) => {
		const write = () => {
			while (sent < BODY_BYTES) {
				sent += piece.length;
				if (!response.write(piece)) return void response.once('drain', write);
			}
			response.end();
		};
		write();
	});
	await new Promise(resolve => origin.listen(0, '127.0.0.1', resolve));
	let [received, wrong, seq] = [0, 0, 0];
	let ended;
	const done = new Promise(resolve => (ended = resolve));
	const client = await connect(url, {
		notified: (_method, params) => {
			const chunk = Buffer.from(params.deltaBase64, 'base64');
			if (params.seq !== ++seq || !isPattern(chunk, received)) wrong++;
			received += chunk.length;
			if (params.done) ended(params.error);
		},
	});
	await client.call('fs/readFile', {path: uri(new URL(import.meta.url).pathname)});
	const memory = watchMemory(pid);
	const began = performance.now();
	const request = {
		method: 'GET',
		url: `http://127.0.0.1:${origin.address().port}/`,
		requestId: 's',
		streamResponse: true,
	};
	await client.call('http/request', request);
	client.socket.pause();
	await delay(3000);
	const ahead = sent - received;
	client.socket.resume();
	const error = await done;
	const seconds = (performance.now() - began) / 1000 - 3;
	const growth = memory.stop();
	origin.close();
	origin.closeAllConnections();
	return [
		['bytes received / sent', `${received} / ${BODY_BYTES}`, received === BODY_BYTES && error === null],
		['pieces out of order or with a wrong byte', wrong, wrong === 0],
		['MiB the origin was let ahead of a client that stopped', (ahead / MiB).toFixed(1), ahead < 64 * MiB],
		['MiB/s', Math.round(BODY_BYTES / MiB / seconds), true],
		['RSS before / most, MiB', `${growth.before} / ${growth.most}`, growth.most - growth.before < GROWTH_MIB],
	];
}

/** Reads to the end with several blocks on their way; the number of bytes. */
async function readBlocks(client, handleId, take) {
	const read = offset => client.call('fs/readBlock', {handleId, offset, len: BLOCK});
	const ahead = Array.from({length: WINDOW}, (_, index) => read(index * BLOCK));
	let [total, next] = [0, WINDOW];
	for (;;) {
		const block = await ahead.shift();
		const chunk = Buffer.from(block.chunk, 'base64');
		take(chunk, block);
		total += chunk.length;
		if (block.eof) break;
		ahead.push(read(next++ * BLOCK));
	}
	await Promise.allSettled(ahead);
	return total;
}

async function writeBlocks(client, handleId, source) {
	const ahead = [];
	let offset = 0;
	for await (const chunk of source) {
		ahead.push(client.call('fs/writeBlock', {handleId, offset, chunk: chunk.toString('base64')}));
		offset += chunk.length;
		if (ahead.length === WINDOW) await ahead.shift();
	}
	await Promise.all(ahead);
	return offset;
}

/** Random content; its sha256. */
function makeFile(path, size) {
	const hash = createHash('sha256');
	const block = Buffer.alloc(BLOCK);
	const fd = openSync(path, 'w');
	for (let written = 0; written < size; written += BLOCK) {
		randomFillSync(block);
		hash.update(block);
		writeSync(fd, block);
	}
	closeSync(fd);
	return hash.digest('hex');
}

async function sha256Of(stream) {
	const hash = createHash('sha256');
	for await (const chunk of stream) hash.update(chunk);
	return hash.digest('hex');
}

function isPattern(chunk, offset) {
	const phase = offset % 8;
	for (let index = 0; index < chunk.length; index += 4093) {
		if (chunk[index] !== 'longarm\n'.charCodeAt((phase + index) % 8)) return false;
	}
	return true;
}

/** The most a process ever had while it was watched. */
function watchMemory(pid) {
	const before = rssOf(pid);
	let most = before;
	const timer = setInterval(() => {
		most = Math.max(most, rssOf(pid));
	}, SAMPLE_MS);
	return {
		stop() {
			clearInterval(timer);
			return {before, most: Math.max(most, rssOf(pid))};
		},
	};
}

async function timed(work) {
	const began = performance.now();
	const result = await work();
	return {result, seconds: (performance.now() - began) / 1000};
}

function rate(bytes, {seconds}) {
	return Math.round(bytes / MiB / seconds);
}

function uri(path) {
	return pathToFileURL(path).href;
}
