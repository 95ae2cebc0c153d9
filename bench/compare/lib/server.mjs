// Servers under test: how they are started, connected to, looked at and stopped.
import {spawn} from 'node:child_process';
import {existsSync} from 'node:fs';
import {printedAddress} from '../../lib/printed-address.mjs';
import {
	childrenOf,
	cpuSecondsOf,
	descriptorsOf,
	executableOf,
	hasOwnProgram,
	signalProcess,
	startTimeOf,
	statusOf,
	threadSecondsOf,
	treeOf,
} from '../../lib/proc.mjs';
import {listenerOf} from '../../lib/process-search.mjs';
import {delay} from '../../lib/waiting.mjs';
import {StdioRpc} from './stdio-rpc.mjs';
import {WebSocketRpc} from './web-socket-rpc.mjs';

const MAX_START_MS = 15_000;
const TERMINATE_GRACE_MS = 1500;
const KILL_GRACE_MS = 2000;

/** `NAME=COMMAND`, `NAME=stdio:COMMAND` or `NAME=ws://HOST:PORT`; `undefined` when it is none of them. */
export function parseServer(text) {
	const at = text.indexOf('=');
	if (at < 1 || at === text.length - 1) return undefined;
	const name = text.slice(0, at);
	const command = text.slice(at + 1);
	if (command.startsWith('stdio:')) return {name, cmd: command.slice('stdio:'.length), kind: 'stdio'};
	return {name, cmd: command, kind: /^ws:\/\/\S+$/.test(command) ? 'url' : 'ws'};
}

export class Server {
	/** When the command was run. */
	startedAt = 0;
	/** Address to connect to; none on stdio. */
	url;
	#environment;
	#clients = new Set();
	#child;
	/** The process that serves. */
	#pid;
	/** CPU seconds by thread, as last seen. */
	#threadSeconds = new Map();
	/** Processes that were there before any work. */
	#baseline = new Set();

	constructor(spec, environment) {
		this.spec = spec;
		// A bundle of extra certificates makes every Node program start tens of milliseconds later; it is the machine's,
		// not the server's.
		const {NODE_EXTRA_CA_CERTS: _certificates, ...rest} = environment;
		this.#environment = rest;
	}

	/** Whether it takes more than one connection. */
	get isShared() {
		return this.spec.kind !== 'stdio';
	}

	/** Another one of the same kind, not started yet. */
	sibling() {
		return new Server(this.spec, this.#environment);
	}

	/** Runs the command; resolves once it can be connected to. */
	async start() {
		const {cmd, kind} = this.spec;
		this.startedAt = performance.now();
		if (kind === 'url') {
			this.url = cmd;
			this.#pid = listenerOf(cmd);
			this.#baseline = new Set([this.#pid]);
			return;
		}
		const stdin = kind === 'stdio' ? 'pipe' : 'ignore';
		this.#child = spawn('/bin/sh', ['-c', cmd], {stdio: [stdin, 'pipe', 'pipe'], env: this.#environment});
		this.#child.stderr.resume();
		if (kind === 'ws') this.url = await printedAddress(this.#child, {name: this.spec.name, withinMs: MAX_START_MS});
	}

	/** An initialized connection; on stdio always the same. */
	async connect() {
		if (!this.isShared && this.#clients.size > 0) return [...this.#clients][0];
		const client = this.isShared ? await WebSocketRpc.connect(this.url) : new StdioRpc(this.#child);
		await client.initialize();
		this.#clients.add(client);
		this.#locate();
		return client;
	}

	release(client) {
		if (!this.isShared) return;
		client.close();
		this.#clients.delete(client);
	}

	/** MiB of the serving process. */
	rssMain() {
		return statusOf(this.#pid, 'VmRSS') / 1024;
	}

	peakMain() {
		return statusOf(this.#pid, 'VmHWM') / 1024;
	}

	/** MiB of all processes of the server. */
	rssTree() {
		return this.#sum(pid => statusOf(pid, 'VmRSS')) / 1024;
	}

	threads() {
		return statusOf(this.#pid, 'Threads');
	}

	descriptors() {
		return descriptorsOf(this.#pid);
	}

	/**
	 * CPU seconds used so far by the serving process (the processes it manages are not counted). Threads that have ended
	 * count with what they had used when they were last seen.
	 */
	cpu() {
		for (const [thread, seconds] of threadSecondsOf(this.#pid)) this.#threadSeconds.set(thread, seconds);
		return [...this.#threadSeconds.values()].reduce((sum, seconds) => sum + seconds, 0);
	}

	cpuTree() {
		return this.#sum(cpuSecondsOf);
	}

	async stop() {
		for (const client of this.#clients) client.close();
		this.#clients.clear();
		const child = this.#child;
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const gone = new Promise(resolve => child.once('exit', () => resolve(true)));
		const tree = treeOf(child.pid).map(pid => ({pid, startTime: startTimeOf(pid)}));
		for (const pid of new Set([this.#pid, child.pid])) if (pid) signalProcess(pid, 'SIGTERM');
		if (await Promise.race([gone, delay(TERMINATE_GRACE_MS, false, {ref: false})])) await delay(20);
		for (const {pid, startTime} of tree) {
			if (startTime !== undefined && startTimeOf(pid) === startTime) signalProcess(pid, 'SIGKILL');
		}
		await Promise.race([gone, delay(KILL_GRACE_MS, undefined, {ref: false})]);
		for (const stream of child.stdio) stream?.destroy();
	}

	/** Finds the process that serves: the owner of the listening socket, else the largest of a line of only children. */
	#locate() {
		if (this.#pid && existsSync(`/proc/${this.#pid}`)) return;
		this.#pid = this.url ? listenerOf(this.url) : undefined;
		this.#pid ??= largestOf(this.#child.pid);
		this.#baseline = new Set(treeOf(this.#child?.pid ?? this.#pid));
	}

	/**
	 * Server processes: those that were there before any work, and later ones that run the server's own executable. A child
	 * that has yet to become the program it was started for runs that, too, in memory that is counted already.
	 */
	#serverPids() {
		const executable = executableOf(this.#pid);
		const isHelper = pid => executable !== undefined && executableOf(pid) === executable && hasOwnProgram(pid);
		return treeOf(this.#child?.pid ?? this.#pid).filter(
			pid => pid === this.#pid || this.#baseline.has(pid) || isHelper(pid),
		);
	}

	#sum(read) {
		return this.#serverPids().reduce((total, pid) => total + read(pid), 0);
	}
}

/** Shells and shims come before the process that serves, watchers behind it; it is the one with the most memory. */
function largestOf(root) {
	const line = [root];
	for (;;) {
		const children = childrenOf(line.at(-1));
		if (children.length !== 1) break;
		line.push(children[0]);
	}
	const sizes = line.map(pid => statusOf(pid, 'VmRSS'));
	return line[sizes.indexOf(Math.max(...sizes))];
}
