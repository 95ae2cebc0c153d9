import {spawn} from 'node:child_process';
import {get} from 'node:http';
import {RECLAIM_MS, RSS_GROWTH_MIB} from './bounds.mjs';
import {handshake, Story, warmState} from './episode.mjs';
import {cpuSeconds, eventually, observe} from './observe.mjs';
import {Peer} from './peer.mjs';
import {shown} from './violation.mjs';
import {command, SETTINGS} from './workspace.mjs';

/** The one server of all episodes over WebSocket, warm; `finish` ends it and says what was left. */
export async function startWebSocketServer() {
	const child = spawn(process.execPath, [command, 'serve', '--listen', 'ws://127.0.0.1:0', ...SETTINGS], {
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	const server = {url: '', stderr: '', died: undefined};
	child.stderr.on('data', data => {
		server.stderr += data;
	});
	child.once('exit', (code, signal) => {
		server.died = `the server ended with ${code ?? signal} and said: ${server.stderr}`;
	});
	server.url = await new Promise((resolve, reject) => {
		child.stdout.once('data', data => resolve(String(data).trim()));
		child.once('exit', () => reject(new Error(server.died)));
	});
	await warmUp(server, child.pid);
	const before = observe(child.pid);
	return Object.assign(server, {finish: () => finish(server, child, before)});
}

async function warmUp(server, pid) {
	const story = new Story(-1, server);
	story.transport = 'ws';
	const peer = await Peer.connect(story);
	await handshake(peer, 'ready');
	await warmState(peer, pid);
	peer.close();
	await eventually(async () => (await health(server.url)).sessions === 0, RECLAIM_MS);
}

/** Rows of what, value, kept. */
async function finish(server, child, before) {
	if (server.died) return [['the server lived', server.died, false]];
	const cpu = cpuSeconds(child.pid);
	const idle = async () => {
		const {connections, sessions, processes} = await health(server.url);
		return connections + sessions + processes === 0;
	};
	const quiet = await eventually(idle, RECLAIM_MS);
	const state = JSON.stringify(await health(server.url));
	await eventually(() => observe(child.pid).fds <= before.fds, RECLAIM_MS);
	await eventually(() => observe(child.pid).rss < before.rss + RSS_GROWTH_MIB, RECLAIM_MS);
	const after = observe(child.pid);
	child.kill('SIGTERM');
	await eventually(() => server.died !== undefined, 5000);
	return [
		['processor seconds of the WebSocket server', cpu, true],
		['connections, sessions and processes are over', state, quiet],
		['children before / after', `${before.children} / ${after.children}`, after.children <= before.children],
		['descriptors before / after', `${before.fds} / ${after.fds}`, after.fds <= before.fds],
		['RSS before / after, MiB', `${before.rss} / ${after.rss}`, after.rss < before.rss + RSS_GROWTH_MIB],
		['stderr of the server', server.stderr === '' ? 'empty' : shown(server.stderr, 500), server.stderr === ''],
		['exit code of the server', child.exitCode ?? child.signalCode ?? 'none', child.exitCode === 0],
	];
}

function health(url) {
	return new Promise((resolve, reject) => {
		const request = get(`${url.replace('ws:', 'http:')}/healthz`, {agent: false}, response => {
			let body = '';
			response.on('data', data => {
				body += data;
			});
			response.on('end', () => resolve(JSON.parse(body)));
		});
		request.on('error', reject);
	});
}
