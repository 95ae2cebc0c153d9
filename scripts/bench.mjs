// Measures the built server side by side with the real peer and with the least a Node server can do.
//   npm run bench             small sizes, two repetitions, less than two minutes
//   npm run bench:full        full sizes, five repetitions, and the peer with its best setting for parallel work
// Everything behind -- is passed on: npm run bench -- --only fs_io --reps 3
// The peer is installed on demand; where that fails, longarm is measured against the floor alone.
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

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
if (!peer) console.error('the peer cannot be installed: longarm is measured against the floor only');
const node = quoted(process.execPath);
const floor = {floor: `exec ${node} ${quoted(pathOf('bench/compare/floor.mjs'))} --best`};
// The suite reads 40 MiB in one message, which is more than stock clients take and we send unasked.
const longarm = {longarm: `exec ${node} ${quoted(command)} serve --listen ws://127.0.0.1:0 --max-reply 128MiB`};
const codex = `exec ${quoted(peer ?? '')} exec-server --listen ws://127.0.0.1:0`;
const codexAtOnce = `${codex} --concurrent-requests 64`;
// The first is the base of the ratios.
const servers = peer ? {codex, ...(isFull && {'codex-64': codexAtOnce}), ...longarm, ...floor} : {...floor, ...longarm};
const places = Object.entries(servers).flatMap(([name, line]) => ['--server', `${name}=${line}`]);
const sizes = isFull ? ['--reps', '5'] : ['--quick', '--reps', '2'];
end(run(suite, ...sizes, ...places, ...asked));

/** The peer's program, or `undefined`. In a process of its own: an installation that fails may end it. */
function findPeer() {
	const module = new URL('lib/stock-codex.mjs', import.meta.url).href;
	const script = `import {stockCodex} from ${JSON.stringify(module)}; console.log(await stockCodex());`;
	const {stdout} = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
		stdio: ['ignore', 'pipe', 'inherit'],
		encoding: 'utf8',
	});
	const program = stdout.trimEnd().split('\n').at(-1);
	return program && existsSync(program) ? program : undefined;
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
