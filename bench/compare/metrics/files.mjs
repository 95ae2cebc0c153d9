import {rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {MIB} from '../../lib/measure.mjs';
import {median} from '../../lib/stats.mjs';
import {inParallel} from '../../lib/waiting.mjs';
import {fixtureTree, SMALL_BYTES, wholeMebibytes} from './fixture-tree.mjs';
import {higher, lower} from './values.mjs';
import {cost, costed, uniqueId} from './work.mjs';

const FLIGHT = 16;
const BLOCKS_IN_FLIGHT = 8;
const WARM_UP_READS = 200;

/** Whole files, blocks, small files, metadata, a directory and a tree. */
export async function fileAccess(server, sizes, context) {
	const tree = fixtureTree(context.scratch, sizes);
	const client = await server.connect();
	const values = {
		...(await largeFiles(server, client, tree, sizes)),
		...(await writtenFile(server, client, join(context.scratch, `w-${process.pid}`), sizes.fsWriteMiB)),
		...(await smallFiles(server, client, tree, sizes)),
		...(await listings(server, client, tree, sizes)),
	};
	server.release(client);
	return values;
}

export function uriOf(...path) {
	return pathToFileURL(join(...path)).href;
}

/**
 * A row and its processor time. The warm-up is not measured; `amount` is what the work does, and a row without one is the
 * time of a single call. A failure is a row without a value, with the reason as its note.
 */
async function measured(server, {name, unit, costUnit, amount, count = 1, warmUp, work}) {
	const toValue = amount === undefined ? lower : higher;
	try {
		await warmUp?.();
		const {result, ms, serverCpu} = await costed(server, work);
		const value = amount === undefined ? median(result.times) : amount / (ms / 1000);
		return {[name]: toValue(value, unit), [`${name}_cpu`]: cost(serverCpu, amount ?? count, costUnit)};
	} catch (error) {
		return {[name]: toValue(Number.NaN, unit, error.message)};
	}
}

async function largeFiles(server, client, tree, {fsMiB}) {
	const whole = wholeMebibytes(fsMiB);
	const bulk = {unit: 'MiB/s', costUnit: 'ms/MiB'};
	const readWhole = async () => {
		const params = {path: uriOf(tree, 'whole'), sandbox: null};
		const {bulkBytes} = await client.call('fs/readFile', params, true);
		if (bulkBytes !== whole * MIB) throw new Error(`readFile returned ${bulkBytes} of ${whole * MIB} bytes`);
	};
	const read = flight => () => readBlocks(client, tree, fsMiB, flight);
	return {
		...(await measured(server, {name: 'read_whole', ...bulk, amount: whole, warmUp: readWhole, work: readWhole})),
		...(await measured(server, {name: 'read_blocks', ...bulk, amount: fsMiB, warmUp: read(1), work: read(1)})),
		...(await measured(server, {name: 'read_blocks_8', ...bulk, amount: fsMiB, work: read(BLOCKS_IN_FLIGHT)})),
	};
}

/** A file in blocks of 1 MiB. */
async function readBlocks(client, tree, mebibytes, flight) {
	const handleId = uniqueId('h');
	await client.call('fs/open', {handleId, path: uriOf(tree, 'big'), sandbox: null});
	let total = 0;
	await inParallel(mebibytes, flight, async index => {
		const block = {handleId, offset: index * MIB, len: MIB};
		const {bulkBytes} = await client.call('fs/readBlock', block, true);
		total += bulkBytes;
	});
	await client.call('fs/close', {handleId});
	if (total !== mebibytes * MIB) throw new Error(`blocks returned ${total} of ${mebibytes * MIB} bytes`);
}

async function writtenFile(server, client, target, mebibytes) {
	const content = Buffer.alloc(mebibytes * MIB, 'longarm!').toString('base64');
	const params = `{"path":${JSON.stringify(uriOf(target))},"dataBase64":"${content}","sandbox":null}`;
	const write = async () => {
		await client.callText('fs/writeFile', params);
		if (statSync(target).size !== mebibytes * MIB) throw new Error('written size is wrong');
	};
	const row = {name: 'write_whole', unit: 'MiB/s', costUnit: 'ms/MiB', amount: mebibytes};
	const values = await measured(server, {...row, warmUp: write, work: write});
	rmSync(target, {force: true});
	return values;
}

async function smallFiles(server, client, tree, {small, warmCalls}) {
	const paths = Array.from({length: small}, (_, index) => uriOf(tree, 'small', `f${index}`));
	const paramsOf = index => ({path: paths[index % small], sandbox: null});
	const readOne = async index => {
		const {bulkBytes} = await client.call('fs/readFile', paramsOf(index), true);
		if (bulkBytes !== SMALL_BYTES) throw new Error('small file came back short');
	};
	const statOne = index => client.call('fs/getMetadata', paramsOf(index));
	const reads = {unit: 'files/s', costUnit: 'us/file', amount: small, work: () => repeat(small, readOne)};
	const stats = {unit: 'calls/s', costUnit: 'us/call', amount: small, work: () => repeat(small, statOne)};
	// The warm rows are those of a server that has been up for a while: the same calls after many of them.
	return {
		...(await measured(server, {name: 'small_reads', ...reads, warmUp: () => repeat(WARM_UP_READS, readOne)})),
		...(await measured(server, {name: 'metadata', ...stats})),
		...(await measured(server, {name: 'small_reads_warm', ...reads, warmUp: () => repeat(warmCalls, readOne)})),
		...(await measured(server, {name: 'metadata_warm', ...stats, warmUp: () => repeat(warmCalls, statOne)})),
	};
}

function repeat(count, work) {
	return inParallel(count, FLIGHT, work);
}

async function listings(server, client, tree, {dirN, dirEntries, walkDirs, walkFiles}) {
	const options = {maxDepth: 16, maxDirectories: 10_000, maxEntries: 50_000, followDirectorySymlinks: false};
	const list = async () => {
		const {entries} = await client.call('fs/readDirectory', {path: uriOf(tree, 'many'), sandbox: null});
		if (entries.length !== dirEntries) throw new Error(`readDirectory returned ${entries.length}`);
	};
	const walk = async () => {
		const {entries} = await client.call('fs/walk', {path: uriOf(tree, 'tree'), sandbox: null, options});
		const expected = Math.min(20, walkDirs) + walkDirs * (1 + walkFiles);
		if (entries.length !== expected) throw new Error(`walk returned ${entries.length} of ${expected}`);
	};
	const rowOf = (name, work) => ({
		name,
		unit: 'ms',
		costUnit: 'ms/call',
		count: dirN,
		warmUp: work,
		work: () => inParallel(dirN, 1, work),
	});
	client.capture = true;
	const values = {
		...(await measured(server, rowOf('readdir', list))),
		...(await measured(server, rowOf('walk', walk))),
	};
	client.capture = false;
	return values;
}
