// `longarm cp` on a line that is cut every 1 to 4 MB, and killed with SIGKILL in between: small files, medium files and one
// large file, to and from a server, with the same command again and again. Ends whole, each time.
//   node bench/copy-cuts.mjs [--mib 48] [--files 4000] [--kills 3] [--seed N]      ends with a table, exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {mkdirSync, rmSync} from 'node:fs';
import {connect, createServer} from 'node:net';
import {join} from 'node:path';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {digestOfTree, makeFile, makeTree} from './lib/file-fixtures.mjs';
import {MIB} from './lib/measure.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {Random} from './lib/random.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay} from './lib/waiting.mjs';

const MIN_CUT_BYTES = 1_000_000;
const MAX_CUT_BYTES = 4_000_000;
const MEDIUM_BYTES = 3 * MIB;
/** The time in which a copy is killed. */
const MAX_KILL_MS = 3000;

const {mib, files, kills, seed} = readOptions('Copies over a line that breaks all the time.', {
	mib: {default: 48, help: 'MiB of the large file, and of all medium files together'},
	files: {default: 4000, help: 'small files'},
	kills: {default: 3, help: 'times that each copy is killed and run again'},
	seed: SEED,
});
console.error(`seed ${seed}`);
const random = new Random(seed);
const scratch = scratchFolder('copy-cuts');
const server = await startServer();
const proxy = await startProxy(new URL(server.url));
const sources = {
	small: source => makeTree(source, files),
	medium: source => {
		for (let index = 0; index * MEDIUM_BYTES < mib * MIB; index++) makeFile(join(source, `m${index}`), MEDIUM_BYTES);
	},
	large: source => makeFile(join(source, 'large'), mib * MIB),
};
const rows = [];
for (const [name, make] of Object.entries(sources)) {
	const source = join(scratch, name);
	mkdirSync(source);
	make(source);
	const digest = digestOfTree(source);
	for (const direction of ['there', 'back']) {
		for (const killed of [0, kills])
			rows.push(...(await through(`${name}, ${direction}, ${killed} kills`, {source, direction, digest, killed})));
	}
}
proxy.close();
await server.stop();
finish(rows);

async function through(scenario, {source, direction, digest, killed}) {
	const target = join(scratch, 'target');
	const addresses = direction === 'there' ? [source, `${proxy.url}:${target}`] : [`${proxy.url}:${source}`, target];
	const [began, cuts] = [performance.now(), proxy.cuts()];
	let last = await copy(addresses, killed === 0 ? undefined : random.integer(300, MAX_KILL_MS));
	// A copy that was faster than its kill is whole, and the same command again would copy into it.
	for (let kill = 1; kill <= killed && last.signal !== null; kill++) {
		last = await copy(addresses, kill === killed ? undefined : random.integer(300, MAX_KILL_MS));
	}
	const isSame = last.code === 0 && digestOfTree(target) === digest;
	rmSync(target, {recursive: true, force: true});
	const row = rowsOf(scenario);
	return [
		row(
			'exit code, seconds, cuts',
			`${last.code}, ${((performance.now() - began) / 1000).toFixed(1)}, ${proxy.cuts() - cuts}`,
			last.code === 0,
		),
		row('names, modes and contents', isSame ? 'the same' : 'different', isSame),
	];
}

async function copy(addresses, killAfterMs) {
	const child = spawn(process.execPath, [COMMAND.default, 'cp', '-r', '--quiet', ...addresses], {
		stdio: ['ignore', 'ignore', 'inherit'],
	});
	const ended = new Promise(resolve => child.once('close', (code, signal) => resolve({code, signal})));
	if (killAfterMs !== undefined) {
		await Promise.race([ended, delay(killAfterMs)]);
		child.kill('SIGKILL');
	}
	return ended;
}

/** Closes each connection after some bytes, of both directions together. */
async function startProxy({hostname, port}) {
	let cuts = 0;
	const listener = createServer(near => {
		const far = connect(Number(port), hostname);
		let left = random.integer(MIN_CUT_BYTES, MAX_CUT_BYTES);
		const end = () => {
			near.destroy();
			far.destroy();
		};
		for (const [from, to] of [
			[near, far],
			[far, near],
		]) {
			from.on('error', end).on('close', end);
			from.on('data', chunk => {
				if (left <= 0) return;
				left -= chunk.length;
				if (left <= 0) {
					cuts++;
					end();
				} else if (!to.write(chunk)) from.pause();
			});
			to.on('drain', () => from.resume());
		}
	});
	await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve));
	return {
		url: `ws://127.0.0.1:${listener.address().port}`,
		cuts: () => cuts,
		close: () => listener.close(),
	};
}
