import {setImmediate as turn} from 'node:timers/promises';
import {childrenOf, describeProcess, openFilesOf, usageOf} from '../lib/proc.mjs';
import {Random} from '../lib/random.mjs';
import {delay, until} from '../lib/waiting.mjs';
import {outcomes} from './counters.mjs';
import {RECLAIM_MS, RSS_GROWTH_MIB, STDIO_SHARE} from './limits.mjs';
import {options} from './options.mjs';
import {startParams} from './params.mjs';
import {Peer} from './peer.mjs';
import {Violation} from './violation.mjs';

const PROFILES = ['raw', 'greeted', 'ready', 'ready', 'ready', 'ready', 'ready', 'ready'];
const ENDINGS = ['clean', 'clean', 'fatal', 'fatal', 'fatal', 'half', 'abrupt', 'mid-message'];

/** The life of one client. Everything it decides comes from its own random numbers. */
export class Episode {
	/** Its connections, past and present. */
	peers = [];
	/** Sessions it may come back to: one for every handshake, the same or another, since that may depend on the time. */
	sessions = [];
	nextId = 1;
	/** Whether it stops processes. */
	stops;
	/** Processes it has asked for. */
	started = 0;

	constructor(index, server) {
		this.index = index;
		this.server = server;
		this.random = Random.ofPart(options.seed, index);
		const either = this.random.chance(STDIO_SHARE) ? 'stdio' : 'ws';
		this.stops = this.random.chance(0.5);
		this.transport = options.transport === 'both' ? either : options.transport;
	}
}

/** Runs an episode: one connection or a few, with what they left behind in between. */
export async function runEpisode(episode) {
	const {random, transport} = episode;
	const connections = transport === 'ws' && random.chance(0.3) ? 2 + random.below(3) : 1;
	for (let left = connections; left > 0; left--) {
		const profile = random.pick(PROFILES);
		const long = profile === 'ready' && random.chance(transport === 'ws' ? 0.03 : 0.4);
		const peer = await Peer.connect(episode);
		if (profile !== 'raw') await handshake(peer, profile);
		const before = long && transport === 'stdio' ? await warmState(peer, peer.link.pid) : undefined;
		await converse(peer, long);
		if (profile === 'ready' && transport === 'ws' && random.chance(0.1)) await rival(peer);
		if (before) await sameAsBefore(peer, before);
		await end(peer);
	}
}

export async function handshake(peer, profile) {
	const {random, sessions} = peer.episode;
	const resumeSessionId = sessions.length > 0 && random.chance(0.6) ? random.pick(sessions) : undefined;
	let reply = await peer.ask('initialize', {clientName: 'fuzz', resumeSessionId});
	// The server may not have noticed yet that the last connection is gone.
	for (let tries = 0; reply.error?.code === -32010 && tries < 100; tries++) {
		await delay(10);
		reply = await peer.ask('initialize', {clientName: 'fuzz', resumeSessionId});
	}
	// The session may be over.
	if (reply.error) reply = await peer.ask('initialize', {clientName: 'fuzz'});
	if (!reply.result?.sessionId) throw new Violation(`initialize was refused: ${JSON.stringify(reply)}`);
	peer.state = 'greeted';
	peer.sessionId = reply.result.sessionId;
	sessions.push(peer.sessionId);
	if (profile === 'ready') peer.becomeReady();
}

/** The resources of the server once it has started processes of both kinds, kept output on disk and watched a file. */
export async function warmState(peer, pid) {
	// libuv opens one descriptor (anon_inode:inotify) with the first watch of a program, and keeps it for all others.
	const {error} = await peer.ask('fs/watch', {watchId: 'warm', path: 'file:///', recursive: false});
	if (error) throw new Violation(`no directory can be watched: ${JSON.stringify(error)}`);
	await peer.ask('fs/unwatch', {watchId: 'warm'});
	for (const tty of [false, true]) {
		await peer.ask('process/start', startParams(`warm-${tty}`, ['/bin/true'], {tty, spill: {}}));
		await peer.ask('process/wait', {processId: `warm-${tty}`});
	}
	await delay(200);
	return {...usageOf(pid), openFiles: openFilesOf(pid)};
}

async function converse(peer, long) {
	const {random} = peer.episode;
	// A connection that says nothing at all is the only one on which `initialized` is surely too early.
	const mute = peer.state === 'new' && random.chance(0.3);
	const batches = mute ? 0 : long ? 20 + random.below(60) : random.below(7);
	for (let batch = 1; batch <= batches; batch++) {
		await peer.exchange(5 + random.below(long ? 250 : 60));
		if (batch % 8 === 0) await peer.sweep();
	}
}

/** Another connection that wants the session of a living one. */
async function rival(peer) {
	const {episode} = peer;
	const other = await Peer.connect(episode);
	const {error} = await other.ask('initialize', {clientName: 'rival', resumeSessionId: peer.sessionId});
	if (error?.code !== -32010) throw new Violation(`a rival got ${JSON.stringify(error)} for a session that is held`);
	await other.exchange(10);
	await peer.exchange(10);
	other.close();
	await other.gone();
	episode.peers.splice(episode.peers.indexOf(other), 1);
}

async function sameAsBefore(peer, before) {
	await peer.sweep();
	await peer.closeFiles();
	const {pid} = peer.link;
	const same = () => {
		const now = usageOf(pid);
		return now.fds <= before.fds && now.children <= before.children && now.rss < before.rss + RSS_GROWTH_MIB;
	};
	if (await until(same, {withinMs: RECLAIM_MS})) return;
	const {openFiles, ...counts} = before;
	const children = childrenOf(pid).map(describeProcess).join('; ');
	const opened = openFilesOf(pid).filter(file => !openFiles.includes(file));
	const became = `${JSON.stringify(counts)} became ${JSON.stringify(usageOf(pid))}`;
	throw new Violation(`not given back: ${became}; opened: ${opened.join(', ')}; children: ${children}`);
}

async function end(peer) {
	const {random} = peer.episode;
	const way = random.pick(ENDINGS);
	switch (way) {
		case 'clean':
			await peer.sweep();
			peer.close();
			break;
		case 'fatal':
			await peer.provoke();
			break;
		case 'half':
			await peer.exchangeAndEnd(5, () => peer.link.halfClose());
			break;
		case 'abrupt':
			await peer.exchangeAndEnd(20, () => peer.drop());
			break;
		default:
			peer.write(peer.link.unfinished(random));
			await turn();
			peer.drop();
	}
	await peer.gone();
	outcomes.add(way === 'fatal' ? 'the server hung up' : `the client hung up, ${way}`);
}
