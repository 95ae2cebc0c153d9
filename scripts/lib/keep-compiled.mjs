// Runs the built command in the ways that are most common, so that what V8 compiles for each is there at the next start.
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';

const MAX_RUN_MS = 30_000;
const SERVE = ['serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'error'];

/** Without it everything works, a little later. Each way adds to what those before it have left. */
export async function keepCompiled() {
	keep('--help');
	keep(...SERVE);
	keep('run', '--', 'true');
	keep('ls', '--json', '.');
	const server = spawn(process.execPath, ['dist/bin/longarm.js', ...SERVE], {stdio: ['ignore', 'pipe', 'inherit']});
	const told = await Promise.race([once(server.stdout, 'data'), once(server, 'exit').then(() => undefined)]);
	if (!told) return;
	const address = String(told[0]).trim();
	keep('run', '-e', address, '--', 'true');
	keep('ls', '--json', `${address}:/`);
	server.kill();
}

function keep(...words) {
	const {status} = spawnSync(process.execPath, ['scripts/write-code-cache.cjs', ...words], {
		stdio: ['ignore', 'ignore', 'inherit'],
		timeout: MAX_RUN_MS,
	});
	if (status !== 0) console.error(`nothing compiled is kept for \`longarm ${words.join(' ')}\`: it starts more slowly`);
}
