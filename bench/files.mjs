// Promises of the server about bulk: files in blocks, trees as one stream, bodies of HTTP responses. Checksums and
// memory are checked against the built command.
//   node bench/files.mjs [blocks] [tree] [http]      all three without arguments; ends with a table, exit 1 on a broken promise
import {createHash} from 'node:crypto';
import {closeSync, createReadStream, openSync, writeSync} from 'node:fs';
import {createServer} from 'node:http';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {connect} from './lib/client.mjs';
import {RepeatedContent} from './lib/content.mjs';
import {digestOfTree, makeFile, makeTree} from './lib/file-fixtures.mjs';
import {MIB, timed, watchMemory} from './lib/measure.mjs';
import {runScenarios} from './lib/scenarios.mjs';
import {delay} from './lib/waiting.mjs';

const BLOCK = MIB;
/** Blocks on their way at once. */
const WINDOW = 4;
const GROWTH_MIB = 64;
const FILE_BYTES = 2048 * MIB;
const TREE_FILES = 20_000;
const BODY_BYTES = 10 * 1024 * MIB;

const scratch = scratchFolder('files');
await runScenarios('Bulk: files in blocks, trees as one stream, bodies of HTTP responses.', {blocks, tree, http});

/** A large file read to its end and written anew, block by block. */
async function blocks({url, pid}) {
	const [source, target] = [join(scratch, 'source'), join(scratch, 'target')];
	const original = makeFile(source, FILE_BYTES);
	const client = await connect(url);
	await client.call('fs/readFile', {path: uri(new URL(import.meta.url).pathname)});
	const memory = watchServer(pid);
	await client.call('fs/open', {handleId: 'r', path: uri(source)});
	const hash = createHash('sha256');
	const reading = await timed(() => readBlocks(client, 'r', chunk => hash.update(chunk)));
	const read = hash.digest('hex');
	const readGrowth = memory.stop();
	const writeMemory = watchServer(pid);
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
	const memory = watchServer(pid);
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
		['seconds there / back', [packing, unpacking].map(({ms}) => (ms / 1000).toFixed(1)).join(' / '), true],
		['RSS before / most, MiB', `${growth.before} / ${growth.most}`, growth.most - growth.before < GROWTH_MIB],
	];
}

/** An origin that has 10 GiB to say, and a client that stops listening for a while. */
async function http({url, pid}) {
	const content = new RepeatedContent(Buffer.alloc(MIB, 'longarm\n'));
	const piece = content.slice(0, MIB);
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
			if (params.seq !== ++seq || !content.matches(chunk, received)) wrong++;
			received += chunk.length;
			if (params.done) ended(params.error);
		},
	});
	await client.call('fs/readFile', {path: uri(new URL(import.meta.url).pathname)});
	const memory = watchServer(pid);
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
		['MiB the origin was let ahead of a client that stopped', (ahead / MIB).toFixed(1), ahead < 64 * MIB],
		['MiB/s', Math.round(BODY_BYTES / MIB / seconds), true],
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

async function sha256Of(stream) {
	const hash = createHash('sha256');
	for await (const chunk of stream) hash.update(chunk);
	return hash.digest('hex');
}

/** `stop` gives the MiB at the start and the most since then. */
function watchServer(pid) {
	const memory = watchMemory(() => ({server: pid}));
	return {
		stop() {
			const {before, most} = memory.stop();
			return {before: before.server, most: most.server};
		},
	};
}

function rate(bytes, {ms}) {
	return Math.round(bytes / MIB / (ms / 1000));
}

function uri(path) {
	return pathToFileURL(path).href;
}
