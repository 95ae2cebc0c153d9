// Runs the built command in the ways that are most common, so that what V8 compiles for each is there at the next start.
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {createServer} from 'node:http';
import {WebSocket} from 'ws';

const MAX_RUN_MS = 30_000;
const COMMAND = 'dist/bin/longarm.js';
const SERVE = ['serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'error'];

/** The command keeps it by itself; here it is only run. */
export async function keepCompiled() {
	run('--help');
	run('run', '--', 'true');
	run('ls', '--json', '.');
	const server = spawn(process.execPath, [COMMAND, ...SERVE], {stdio: ['ignore', 'pipe', 'inherit']});
	const ended = once(server, 'exit');
	const told = await Promise.race([once(server.stdout, 'data'), ended.then(() => undefined)]);
	if (!told) return;
	const address = String(told[0]).trim();
	run('run', '-e', address, '--', 'true');
	run('ls', '--json', `${address}:/`);
	await fetchThrough(address);
	server.kill();
	await ended;
}

/** One small HTTP request, made by the server. */
async function fetchThrough(address) {
	const origin = createServer((_, response) => response.end('ok'));
	await once(origin.listen(0, '127.0.0.1'), 'listening');
	const socket = new WebSocket(address);
	await once(socket, 'open');
	const params = {method: 'GET', url: `http://127.0.0.1:${origin.address().port}/`, requestId: 'r'};
	for (const message of [
		{id: 1, method: 'initialize', params: {clientName: 'build'}},
		{method: 'initialized', params: {}},
		{id: 2, method: 'http/request', params},
	]) {
		socket.send(JSON.stringify(message));
		if (message.id) await once(socket, 'message');
	}
	socket.terminate();
	origin.close();
	origin.closeAllConnections();
}

function run(...words) {
	const {status} = spawnSync(process.execPath, [COMMAND, ...words], {
		stdio: ['ignore', 'ignore', 'inherit'],
		timeout: MAX_RUN_MS,
	});
	if (status !== 0) console.error(`nothing compiled is kept for \`longarm ${words.join(' ')}\`: it starts more slowly`);
}
