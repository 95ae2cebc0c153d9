import {get} from 'node:http';
import {cpuSecondsOf, usageOf} from '../lib/proc.mjs';
import {startServer} from '../lib/server.mjs';
import {until} from '../lib/waiting.mjs';
import {Episode, handshake, warmState} from './episode.mjs';
import {RECLAIM_MS, RSS_GROWTH_MIB} from './limits.mjs';
import {Peer} from './peer.mjs';
import {shown} from './violation.mjs';
import {command, settings} from './workspace.mjs';

/** The one server of all episodes over WebSocket, warm; `finish` ends it and resolves with what was left behind. */
export async function startWebSocketServer() {
	const server = await startServer({command, settings: settings(), echo: false});
	await warmUp(server);
	const before = usageOf(server.pid);
	return Object.assign(server, {finish: () => finish(server, before)});
}

async function warmUp(server) {
	const episode = new Episode(-1, server);
	episode.transport = 'ws';
	const peer = await Peer.connect(episode);
	await handshake(peer, 'ready');
	await warmState(peer, server.pid);
	peer.close();
	await until(async () => (await health(server.url)).sessions === 0, {withinMs: RECLAIM_MS});
}

/** Rows of what, value, kept. */
async function finish(server, before) {
	const {pid, url} = server;
	if (server.death) return [['the server lived', server.death, false]];
	const cpu = cpuSecondsOf(pid);
	const isIdle = async () => {
		const {connections, sessions, processes} = await health(url);
		return connections + sessions + processes === 0;
	};
	const isQuiet = await until(isIdle, {withinMs: RECLAIM_MS});
	const state = JSON.stringify(await health(url));
	await until(() => usageOf(pid).fds <= before.fds, {withinMs: RECLAIM_MS});
	await until(() => usageOf(pid).rss < before.rss + RSS_GROWTH_MIB, {withinMs: RECLAIM_MS});
	const after = usageOf(pid);
	const exitCode = await server.stop();
	const {stderr} = server;
	return [
		['processor seconds of the WebSocket server', cpu, true],
		['connections, sessions and processes are over', state, isQuiet],
		['children before / after', `${before.children} / ${after.children}`, after.children <= before.children],
		['descriptors before / after', `${before.fds} / ${after.fds}`, after.fds <= before.fds],
		['RSS before / after, MiB', `${before.rss} / ${after.rss}`, after.rss < before.rss + RSS_GROWTH_MIB],
		['stderr of the server', stderr === '' ? 'empty' : shown(stderr, 500), stderr === ''],
		['exit code of the server', exitCode ?? 'none', exitCode === 0],
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
