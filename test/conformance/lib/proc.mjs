// Starting processes over `process/start` and collecting what the server reports about them.

import {readFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {pathToFileURL} from 'node:url';
import {ok} from './check.mjs';
import {CLOCK_SLACK_MS, DEADLINE_MS, elapsedMs, eventually} from './time.mjs';

/** Lifetime of a process that must not end by itself while a test looks at it: above the time limit of every test. */
const SLEEPER_SECONDS = 300;
/** Length of the long poll that a series of requests has to outrun. */
const RIVAL_POLL_MS = 20_000;

export const base64 = data => Buffer.from(data).toString('base64');
export const bytes = text => Buffer.from(text, 'base64');
export const uri = path => pathToFileURL(path).href;

let count = 0;
export const freshId = (prefix = 'proc') => `${prefix}-${++count}`;

export const command = (argv, extra = {}) => ({
	processId: freshId(),
	argv,
	cwd: uri(tmpdir()),
	env: {PATH: process.env.PATH},
	tty: false,
	pipeStdin: false,
	arg0: null,
	...extra,
});
export const sh = (script, extra) => command(['/bin/sh', '-c', script], extra);
/** A silent process that runs until it is terminated. */
export const sleeper = extra => command(['sleep', `${SLEEPER_SECONDS}`], extra);
/** The same as a command of a script. */
export const SLEEP = `sleep ${SLEEPER_SECONDS}`;

export class Proc {
	constructor(peer, id) {
		this.peer = peer;
		this.id = id;
	}

	/** Every notification about this process, sorted by seq (arrival order is not guaranteed to be seq order). */
	get events() {
		return this.peer.inbox
			.filter(m => m.method?.startsWith('process/') && m.params.processId === this.id)
			.map(m => ({...m.params, type: m.method.slice('process/'.length)}))
			.sort((a, b) => a.seq - b.seq);
	}

	raw(stream) {
		const chunks = this.events.filter(e => e.type === 'output' && (!stream || e.stream === stream));
		return Buffer.concat(chunks.map(e => bytes(e.chunk)));
	}

	text(stream) {
		return this.raw(stream).toString();
	}

	/** Waits until the output so far contains `needle`. */
	shows(needle, ms) {
		return this.peer.until(() => this.text().includes(needle), `output containing ${JSON.stringify(needle)}`, ms);
	}

	/** Waits for the pid that a script prints as its first line. */
	async pid() {
		await this.shows('\n');
		return Number.parseInt(this.text(), 10);
	}

	note(type, ms) {
		const method = `process/${type}`;
		return this.peer
			.find(m => m.method === method && m.params.processId === this.id, ms, `${method} for ${this.id}`)
			.then(m => m.params);
	}

	/** Waits for `process/closed` and for every event before it; resolves to a summary. */
	async done(ms) {
		const {seq: last} = await this.note('closed', ms);
		await this.peer.until(() => this.events.length >= last, `all ${last} events of ${this.id}`, ms);
		const {events} = this;
		const exitCode = events.find(e => e.type === 'exited')?.exitCode;
		return {events, exitCode, stdout: this.text('stdout'), stderr: this.text('stderr'), pty: this.text('pty')};
	}

	read(params, ms) {
		return this.peer.call('process/read', {processId: this.id, ...params}, ms);
	}

	/** Sends a long poll and returns its request id. */
	postRead(params) {
		return this.peer.post('process/read', {processId: this.id, ...params});
	}

	write(data, writeId = freshId('write')) {
		return this.peer.call('process/write', {processId: this.id, chunk: base64(data), writeId});
	}

	terminate() {
		return this.peer.call('process/terminate', {processId: this.id});
	}

	signal(signal) {
		return this.peer.call('process/signal', {processId: this.id, signal});
	}
}

export async function start(peer, params) {
	await peer.call('process/start', params);
	return new Proc(peer, params.processId);
}

export async function run(peer, params, ms) {
	return (await start(peer, params)).done(ms);
}

export const textOf = chunks => Buffer.concat(chunks.map(c => bytes(c.chunk))).toString();

/** True while the process runs; a zombie counts as dead. */
export function alive(pid) {
	try {
		return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
	} catch {
		return false;
	}
}

export async function untilDead(pid, ms) {
	await eventually(() => !alive(pid), `process ${pid} to be dead`, {ms});
}

/**
 * Runs shell commands one after the other: each waits until the output of the one before has arrived, so that the server
 * sees them apart however slow it is. All but the last have to print something.
 */
export async function startInSteps(peer, steps) {
	const process = await start(peer, sh(steps.join('; read -r _; '), {pipeStdin: true}));
	for (let seen = 1; seen < steps.length; seen++) {
		await peer.until(() => process.events.length >= seen, `the output of step ${seen}`);
		await process.write('\n');
	}
	return process;
}

/** Lets time pass on the clock of the server: a long poll of a silent process runs to its end. */
export async function letTimePass(t, ms = 300) {
	const idle = await start(await t.open(), sleeper());
	await idle.read({waitMs: ms}, ms + DEADLINE_MS);
}

/**
 * Checks that the server answers at once: a series of `times` requests is through before a long poll on another
 * connection ends. Load slows both down; a server that waits in each request loses.
 */
export async function answersAtOnce(t, times, request) {
	const rival = await start(await t.open(), sleeper());
	const poll = rival.postRead({waitMs: RIVAL_POLL_MS});
	const tookMs = await elapsedMs(async () => {
		for (let i = 0; i < times; i++) await request();
	});
	// A poll that ended before its time is a fault of the server too, but says nothing about these requests.
	const isOver = rival.peer.replied(poll) && tookMs >= RIVAL_POLL_MS - CLOCK_SLACK_MS;
	ok(!isOver, `${times} answers before a long poll of ${RIVAL_POLL_MS} ms ends`);
}
