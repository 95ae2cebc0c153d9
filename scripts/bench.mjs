// Measures the built server side by side with the real peer and with the least a Node server can do.
//   npm run bench             small sizes, two repetitions, less than two minutes
//   npm run bench:full        full sizes, seven repetitions, the peer with its best setting for parallel work, and C floors
// Everything behind -- is passed on: npm run bench -- --only fs_io --reps 3
// The peer is installed on demand; where that fails, longarm is measured against the floor alone.
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {scratchFolder} from './lib/scratch-folder.mjs';
import {findStockCodex} from './lib/stock-codex.mjs';

/** Below the sizes of --quick where most of the time goes: with three servers the whole set stays below two minutes. */
const SHORTER = {
	startups: 2,
	boxMs: 700,
	fairMs: 900,
	manyMiB: 4,
	warmCalls: 3000,
	slowMiB: 128,
	slowMs: 600,
	idle: 100,
	idleMs: 500,
};
const suite = pathOf('bench/compare/bench.mjs');
const command = pathOf('dist/bin/longarm.js');
const isFull = process.argv.includes('--full');
const asked = process.argv.slice(2).filter(argument => argument !== '--full');
if (asked.includes('--help') || asked.includes('-h')) end(run(suite, '--help'));
if (!existsSync(command)) {
	const status = run(pathOf('scripts/build.mjs'));
	if (status !== 0) end(status);
}

const peer = findPeer();
const node = quoted(process.execPath);
const floor = {floor: `exec ${node} ${quoted(pathOf('bench/compare/floor.mjs'))} --best`};
// The suite reads 40 MiB in one message, which is more than stock clients take and we send unasked.
const longarm = {longarm: `exec ${node} ${quoted(command)} serve --listen ws://127.0.0.1:0 --max-reply 128MiB`};
const codex = `exec ${quoted(peer ?? '')} exec-server --listen ws://127.0.0.1:0`;
const codexAtOnce = `${codex} --concurrent-requests 64`;
// The first is the base of the ratios, the second is compared with the floors of a C program.
const servers = peer ? {codex, ...longarm, ...(isFull && {'codex-64': codexAtOnce}), ...floor} : {...floor, ...longarm};
const places = Object.entries(servers).flatMap(([name, line]) => ['--server', `${name}=${line}`]);
const shorter = Object.entries(SHORTER).flatMap(([size, value]) => ['--set', `${size}=${value}`]);
const sizes = isFull ? measureFloors() : ['--quick', '--reps', '2', ...shorter];
end(run(suite, ...sizes, ...places, ...asked));

/** Options that add the floors of a C program; none where they cannot be measured. */
function measureFloors() {
	const file = join(scratchFolder('bench-floors'), 'floors.json');
	return run(pathOf('bench/compare/floors.mjs'), '--native', '--json', file) === 0 ? ['--floors', file] : [];
}

/** The peer's program; undefined where it cannot be had. */
function findPeer() {
	try {
		return findStockCodex();
	} catch (error) {
		console.error(`${error.message}: longarm is measured against the floor only`);
		return undefined;
	}
}

function run(script, ...args) {
	return spawnSync(process.execPath, [script, ...args], {stdio: 'inherit'}).status;
}

function end(status) {
	process.exit(status ?? 1);
}

function pathOf(name) {
	return fileURLToPath(new URL(`../${name}`, import.meta.url));
}

/** For the shell that starts the servers. */
function quoted(path) {
	return `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
