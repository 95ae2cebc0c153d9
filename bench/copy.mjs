// Promises of `longarm cp`: a tree of 20,000 files and one of 2 GiB, there and back, each killed with SIGKILL
// on the way and copied again with the same command. Trees are compared by names, modes and contents.
//   node bench/copy.mjs [tree] [file]      both without arguments; ends with a table, exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {lstatSync as lstat, mkdirSync, readdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {digestOfTree, makeFile, makeTree} from './lib/file-fixtures.mjs';
import {MIB, toMib, watchMemory} from './lib/measure.mjs';
import {tryTo} from './lib/proc.mjs';
import {runScenarios} from './lib/scenarios.mjs';
import {COMMAND} from './lib/server.mjs';

const SAMPLE_MS = 20;
const FILE_BYTES = 2048 * MIB;
const TREE_FILES = 20_000;
/** Clients and servers have no more in memory, whatever is copied. */
const MAX_RSS_MIB = 256;

const scratch = scratchFolder('copy');
await runScenarios('Copies trees and large files there and back with `longarm cp`, killed on the way.', {
	tree: server => bothWays('tree', server, source => makeTree(source, TREE_FILES)),
	file: server => bothWays('file', server, source => makeFile(join(source, 'large'), FILE_BYTES)),
});

async function bothWays(name, server, make) {
	const source = join(scratch, name);
	mkdirSync(source);
	make(source);
	const digest = digestOfTree(source);
	const rows = [];
	const there = (from, to) => [from, `${server.url}:${to}`];
	const back = (from, to) => [`${server.url}:${from}`, to];
	for (const [direction, way] of Object.entries({there, back})) {
		rows.push(...(await through(`${name}, ${direction}`, source, digest, way, server)));
	}
	rmSync(source, {recursive: true});
	return rows;
}

/** Once without a break, and once with one. */
async function through(scenario, source, digest, way, {pid}) {
	const [whole, broken] = [join(scratch, 'whole'), join(scratch, 'broken')];
	const once = await copy(way(source, whole), pid);
	const isWhole = digestOfTree(whole) === digest;
	const half = sizeOf(whole) / 2;
	rmSync(whole, {recursive: true});
	const killed = await copy(way(source, broken), pid, () => sizeOf(broken) > half);
	const left = sizeOf(broken);
	const resumed = await copy(way(source, broken), pid);
	const isSame = digestOfTree(broken) === digest;
	rmSync(broken, {recursive: true});
	const all = [once, killed, resumed];
	const most = side => Math.max(...all.map(each => each[side]));
	const {files, bytes, skipped, resumedBytes} = resumed.summary;
	return [
		[scenario, 'seconds, MiB/s, files/s', figures(once), once.code === 0],
		[scenario, 'names, modes and contents', isWhole ? 'the same' : 'different', isWhole],
		[scenario, 'MiB there when it was killed', toMib(left), killed.signal === 'SIGKILL'],
		[scenario, 'seconds to go on', resumed.seconds.toFixed(1), resumed.code === 0],
		[
			scenario,
			'files copied / skipped, MiB sent / found',
			`${files} / ${skipped}, ${toMib(bytes)} / ${toMib(resumedBytes)}`,
			skipped + resumedBytes > 0,
		],
		[scenario, 'names, modes and contents after going on', isSame ? 'the same' : 'different', isSame],
		[
			scenario,
			'RSS of client / server at most, MiB',
			`${most('client')} / ${most('server')}`,
			Math.max(most('client'), most('server')) < MAX_RSS_MIB,
		],
	];
}

function figures({seconds, summary}) {
	const {bytes, files} = summary;
	return `${seconds.toFixed(1)}, ${toMib(bytes / seconds)}, ${Math.round(files / seconds)}`;
}

/** Runs a copy and kills it when it is time to. */
async function copy(addresses, serverPid, isTime = () => false) {
	const began = performance.now();
	const child = spawn(process.execPath, [COMMAND.default, 'cp', '-r', '--json', ...addresses], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let text = '';
	child.stdout.on('data', data => (text += data));
	const sampled = () => isTime() && child.kill('SIGKILL');
	const memory = watchMemory(() => ({client: child.pid, server: serverPid}), {everyMs: SAMPLE_MS, sampled});
	const [code, signal] = await new Promise(resolve => child.once('close', (...ended) => resolve(ended)));
	const {client, server} = memory.stop().most;
	const seconds = (performance.now() - began) / 1000;
	return {code, signal, seconds, client, server, summary: text === '' ? {} : JSON.parse(text)};
}

/** Bytes of everything below a directory; 0 while it is not there. */
function sizeOf(directory) {
	let bytes = 0;
	for (const entry of tryTo(() => readdirSync(directory, {withFileTypes: true})) ?? []) {
		const path = join(directory, entry.name);
		bytes += entry.isDirectory() ? sizeOf(path) : (tryTo(() => lstat(path).size) ?? 0);
	}
	return bytes;
}
