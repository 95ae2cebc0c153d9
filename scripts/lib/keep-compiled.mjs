// Runs the built command in the ways that are most common, so that what V8 compiles for each is there at the next start.
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {warmUp} from './warm-up.mjs';

const MAX_RUN_MS = 30_000;
const COMMAND = 'dist/bin/longarm.js';
const SERVE = ['serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'error'];

/** The command keeps it by itself; here it is only run, one after the other: each adds to what is there. */
export async function keepCompiled() {
	await serve(warmUp);
	run('run', '--', 'true');
	run('ls', '--json', '.');
	await serve(address => {
		run('run', '-e', address, '--', 'true');
		run('ls', '--json', `${address}:/`);
	});
}

/** Ends when `use` does. */
async function serve(use) {
	const server = spawn(process.execPath, [COMMAND, ...SERVE], {stdio: ['ignore', 'pipe', 'inherit']});
	const ended = once(server, 'exit');
	const told = await Promise.race([once(server.stdout, 'data'), ended.then(() => undefined)]);
	if (!told) return;
	try {
		await use(String(told[0]).trim());
	} finally {
		server.kill();
		await ended;
	}
}

function run(...words) {
	const {status} = spawnSync(process.execPath, [COMMAND, ...words], {
		stdio: ['ignore', 'ignore', 'inherit'],
		timeout: MAX_RUN_MS,
	});
	if (status !== 0) console.error(`nothing compiled is kept for \`longarm ${words.join(' ')}\`: it starts more slowly`);
}
