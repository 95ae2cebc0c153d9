import {rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {MIB, timed} from '../../lib/measure.mjs';
import {median} from '../../lib/stats.mjs';
import {inParallel} from '../../lib/waiting.mjs';
import {fixtureTree, SMALL_BYTES, wholeMebibytes} from './fixture-tree.mjs';
import {higher, lower} from './values.mjs';
import {uniqueId} from './work.mjs';

const FLIGHT = 16;
const BLOCKS_IN_FLIGHT = 8;
const WARM_UP_READS = 200;

/** Whole files, blocks, small files, metadata, a directory and a tree. */
export async function fileAccess(server, sizes, context) {
	const tree = fixtureTree(context.scratch, sizes);
	const client = await server.connect();
	const values = {
		...(await largeFiles(client, tree, sizes)),
		...(await writtenFile(client, join(context.scratch, `w-${process.pid}`), sizes.fsWriteMiB)),
		...(await smallFiles(client, tree, sizes)),
		...(await listings(client, tree, sizes)),
	};
	server.release(client);
	return values;
}

export function uriOf(...path) {
	return pathToFileURL(join(...path)).href;
}

/** The value of `measure`, or none with the reason as its note. */
async function attempt(toValue, unit, measure) {
	try {
		return toValue(await measure(), unit);
	} catch (error) {
		return toValue(Number.NaN, unit, error.message);
	}
}

async function largeFiles(client, tree, {fsMiB}) {
	const whole = wholeMebibytes(fsMiB);
	const readWhole = async () => {
		const params = {path: uriOf(tree, 'whole'), sandbox: null};
		const {bulkBytes} = await client.call('fs/readFile', params, true);
		if (bulkBytes !== whole * MIB) throw new Error(`readFile returned ${bulkBytes} of ${whole * MIB} bytes`);
	};
	return {
		read_whole: await attempt(higher, 'MiB/s', async () => whole / ((await timeSecond(readWhole)) / 1000)),
		read_blocks: await attempt(higher, 'MiB/s', async () => {
			await readBlocks(client, tree, fsMiB, 1);
			return readBlocks(client, tree, fsMiB, 1);
		}),
		read_blocks_8: await attempt(higher, 'MiB/s', () => readBlocks(client, tree, fsMiB, BLOCKS_IN_FLIGHT)),
	};
}

/** Milliseconds of the second run. */
async function timeSecond(work) {
	await work();
	const {ms} = await timed(work);
	return ms;
}

/** MiB/s of a file in blocks of 1 MiB. */
async function readBlocks(client, tree, mebibytes, flight) {
	const handleId = uniqueId('h');
	await client.call('fs/open', {handleId, path: uriOf(tree, 'big'), sandbox: null});
	let total = 0;
	const {ms} = await inParallel(mebibytes, flight, async index => {
		const block = {handleId, offset: index * MIB, len: MIB};
		const {bulkBytes} = await client.call('fs/readBlock', block, true);
		total += bulkBytes;
	});
	await client.call('fs/close', {handleId});
	if (total !== mebibytes * MIB) throw new Error(`blocks returned ${total} of ${mebibytes * MIB} bytes`);
	return mebibytes / (ms / 1000);
}

async function writtenFile(client, target, mebibytes) {
	const content = Buffer.alloc(mebibytes * MIB, 'longarm!').toString('base64');
	const params = `{"path":${JSON.stringify(uriOf(target))},"dataBase64":"${content}","sandbox":null}`;
	const write_whole = await attempt(higher, 'MiB/s', async () => {
		const ms = await timeSecond(() => client.callText('fs/writeFile', params));
		if (statSync(target).size !== mebibytes * MIB) throw new Error('written size is wrong');
		return mebibytes / (ms / 1000);
	});
	rmSync(target, {force: true});
	return {write_whole};
}

async function smallFiles(client, tree, {small, warmCalls}) {
	const paths = Array.from({length: small}, (_, index) => uriOf(tree, 'small', `f${index}`));
	const paramsOf = index => ({path: paths[index % small], sandbox: null});
	const readOne = index => client.call('fs/readFile', paramsOf(index), true);
	const readAndCheck = async index => {
		const {bulkBytes} = await readOne(index);
		if (bulkBytes !== SMALL_BYTES) throw new Error('small file came back short');
	};
	const statOne = index => client.call('fs/getMetadata', paramsOf(index));
	const rate = async work => small / ((await inParallel(small, FLIGHT, work)).ms / 1000);
	// The warm rows are those of a server that has been up for a while: the same calls after many of them.
	return {
		small_reads: await attempt(higher, 'files/s', async () => {
			await inParallel(Math.min(WARM_UP_READS, small), FLIGHT, readAndCheck);
			return rate(readAndCheck);
		}),
		metadata: await attempt(higher, 'calls/s', () => rate(statOne)),
		small_reads_warm: await attempt(higher, 'files/s', async () => {
			await inParallel(warmCalls, FLIGHT, readOne);
			return rate(readOne);
		}),
		metadata_warm: await attempt(higher, 'calls/s', async () => {
			await inParallel(warmCalls, FLIGHT, statOne);
			return rate(statOne);
		}),
	};
}

async function listings(client, tree, {dirN, dirEntries, walkDirs, walkFiles}) {
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
	client.capture = true;
	const values = {
		readdir: await attempt(lower, 'ms', () => medianTime(dirN, list)),
		walk: await attempt(lower, 'ms', () => medianTime(dirN, walk)),
	};
	client.capture = false;
	return values;
}

async function medianTime(count, work) {
	await work();
	const {times} = await inParallel(count, 1, work);
	return median(times);
}
