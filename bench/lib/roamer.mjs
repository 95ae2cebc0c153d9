import {CutError, connect, NoReplyError, ReplyError, startParams} from './client.mjs';
import {Ledger} from './ledger.mjs';
import {livingProcesses} from './observe.mjs';
import {delay, until} from './waiting.mjs';

/** The settings the server is started with, and how far from them chance may go. */
const DETACHED_MS = 3000;
const RETAINED_MS = 2000;
export const SERVER_SETTINGS = ['--detached-session', `${DETACHED_MS}ms`, '--retain-closed', `${RETAINED_MS}ms`];
/** Clocks and a busy machine: what happens this close to a limit may go either way. */
const TOLERANCE_MS = 300;
/** How long the server may take to notice that a connection is gone. */
const NOTICE_MS = 5000;
/** Finished processes are listened for that long, in case they say something after all. */
const LISTEN_ON_MS = 5000;
const SESSION_ATTACHED = -32_010;

/** The session is gone, as it should be: whatever was going on in it is over. */
export class SessionOver extends Error {}

/** The process closed while nobody was connected, for longer than it is retained. */
export class Forgotten extends Error {}

/** One session across many connections: what was under way when a connection was cut goes on with the next. */
export class Roamer {
	cuts = 0;
	calls = 0;
	/** Over all processes that finished. */
	events = 0;
	bytes = 0;
	missedBytes = 0;
	/** The session is gone for good. */
	isOver = false;
	#url;
	#violations;
	#ledgers = new Map();
	#client;
	/** When we last stopped listening: what was said since may not have been heard before a cut. */
	#lastDeafness = Number.POSITIVE_INFINITY;
	/** Settles with the client when there is a connection; a new promise with every cut. */
	#connected;
	#connections = 0;

	constructor(url, violations) {
		this.#url = url;
		this.#violations = violations;
	}

	async open() {
		this.#client = await this.#connect(undefined);
		this.#connected = Promise.resolve(this.#client);
	}

	/** Cut off and sent again until it is answered: only for what may be done twice. */
	async call(method, params) {
		for (;;) {
			const client = await this.#connected;
			this.calls++;
			try {
				return await client.call(method, params);
			} catch (error) {
				if (error instanceof NoReplyError) this.#violations.add('no reply', error.message);
				if (!(error instanceof CutError)) throw error;
			}
		}
	}

	/** Starts a process and keeps its ledger. A start that was cut off may have happened: then it is found afterwards. */
	async start({id, contents, mark, ...rest}) {
		const ledger = this.#expect(id, contents, mark);
		while (!ledger.isStarted) {
			const client = await this.#connected;
			if (ledger.isStarted) break;
			if (ledger.abandoned) throw ledger.abandoned;
			this.calls++;
			try {
				await client.call('process/start', startParams({id, ...rest}));
				ledger.isStarted = true;
			} catch (error) {
				if (error instanceof CutError) continue;
				this.#ledgers.delete(id);
				throw error;
			}
		}
		return ledger;
	}

	#expect(id, contents, mark) {
		const ledger = Object.assign(new Ledger(id, contents, this.#violations), {mark, isStarted: false});
		this.#ledgers.set(id, ledger);
		ledger.finished.then(
			() => this.#finished(ledger),
			() => {},
		);
		return ledger;
	}

	#finished({id, closedSeq, totalBytes, missedBytes}) {
		this.events += closedSeq;
		this.bytes += totalBytes;
		this.missedBytes += missedBytes;
		setTimeout(() => this.#ledgers.delete(id), LISTEN_ON_MS).unref();
	}

	/** Stops reading for a while: the server has to hold back, not to forget. */
	async pauseReading(ms) {
		const {socket} = this.#client;
		this.#lastDeafness = performance.now();
		socket.pause();
		await delay(ms);
		socket.resume();
	}

	/** Hangs up without a word, comes back after the time and catches up. */
	async cut(awayMs) {
		const {resolve, cutAt} = await this.#hangUp();
		await delay(awayMs);
		const client = await this.#resume(cutAt);
		if (!client) {
			this.#giveUp(resolve, new SessionOver(`lost after ${awayMs} ms away`));
			return;
		}
		this.#client = client;
		await Promise.all([...this.#ledgers.values()].map(ledger => this.#catchUpAfterCut(client, ledger, cutAt)));
		this.#lastDeafness = Number.POSITIVE_INFINITY;
		resolve(client);
	}

	/** Hangs up and comes back when the session has to be gone, with everything in it. */
	async outlive() {
		const {resolve} = await this.#hangUp();
		await delay(DETACHED_MS + TOLERANCE_MS * 5);
		const {sessionId} = this.#client;
		const error = await connect(this.#url, {resumeSessionId: sessionId}).then(
			() => new Error('it was resumed'),
			refusal => refusal,
		);
		this.#violations.expect(error.message === `unknown session id ${sessionId}`, 'session expiry', error.message);
		const marks = [...this.#ledgers.values()].map(({mark}) => mark);
		const living = () => livingProcesses(({command}) => marks.some(mark => command.includes(mark)));
		await until(() => living().length === 0, {withinMs: 1000});
		for (const {pid, command} of living()) this.#violations.add('survived its session', `${pid} ${command}`);
		this.#giveUp(resolve, new SessionOver('the session has expired'));
	}

	/** Whatever waits in this session waits no longer. */
	#giveUp(resolve, error) {
		this.isOver = true;
		for (const ledger of this.#ledgers.values()) ledger.abandon(error);
		resolve(Promise.reject(error));
	}

	/** Nobody else gets the session while we have it, and nobody else sees what is in it. */
	async beVisited() {
		const {sessionId} = await this.#connected;
		const cutsBefore = this.cuts;
		const refused = await connect(this.#url, {resumeSessionId: sessionId}).then(
			() => undefined,
			error => error.code,
		);
		// While we are away ourselves a visitor may well get in.
		if (this.cuts > cutsBefore) return;
		this.#violations.expect(refused === SESSION_ATTACHED, 'second connection to a session', `${refused}`);
		const stranger = await connect(this.#url);
		for (const id of [...this.#ledgers.keys()].slice(0, 3)) {
			const {message} = await stranger.call('process/read', {processId: id}).catch(error => error);
			this.#violations.expect(message === `unknown process id ${id}`, 'isolation', `a stranger read ${id}`);
			const {status} = await stranger.call('process/write', {processId: id, chunk: 'eA==', writeId: 'x'});
			this.#violations.expect(status === 'unknownProcess', 'isolation', `a stranger wrote to ${id}: ${status}`);
		}
		const {processes} = await stranger.call('process/list', {});
		this.#violations.expect(processes.length === 0, 'isolation', `a stranger saw ${processes.length} processes`);
		stranger.socket.close();
	}

	async close() {
		this.#connections++;
		this.#client.socket.close();
		await this.#client.closed;
	}

	async #connect(resumeSessionId) {
		const number = ++this.#connections;
		const notified = (method, params) => {
			if (number !== this.#connections) return;
			const ledger = this.#ledgers.get(params.processId);
			if (ledger) ledger.notified(method, params);
			else this.#violations.add('event of an unknown process', `${method} ${JSON.stringify(params).slice(0, 200)}`);
		};
		const client = await connect(this.#url, {resumeSessionId, notified});
		client.socket.once('close', () => {
			this.#violations.expect(number !== this.#connections, 'connection lost', `session ${client.sessionId}`);
		});
		return client;
	}

	async #hangUp() {
		let resolve;
		this.#connected = new Promise(settle => {
			resolve = settle;
		});
		this.#connected.catch(() => {});
		this.cuts++;
		this.#connections++;
		for (const ledger of this.#ledgers.values()) ledger.reattach();
		this.#client.socket.terminate();
		await this.#client.closed;
		return {resolve, cutAt: performance.now()};
	}

	/** Undefined when the session is unknown, which it may be when we come back later than we meant to. */
	async #resume(cutAt) {
		const {sessionId} = this.#client;
		for (const deadline = performance.now() + NOTICE_MS; ; ) {
			try {
				return await this.#connect(sessionId);
			} catch (error) {
				if (!(error instanceof ReplyError) || error.code !== SESSION_ATTACHED) {
					const isLate = performance.now() - cutAt > DETACHED_MS - TOLERANCE_MS;
					const isOver = error.message === `unknown session id ${sessionId}`;
					this.#violations.expect(isOver && isLate, 'resume', error.message);
					return undefined;
				}
				this.#violations.expect(performance.now() < deadline, 'resume', 'still attached to the old connection');
				await delay(20);
			}
		}
	}

	async #catchUpAfterCut(client, ledger, cutAt) {
		if (ledger.isFinished || ledger.abandoned) return;
		const afterSeq = ledger.seen;
		try {
			ledger.page(afterSeq, true, await client.call('process/read', {processId: ledger.id, afterSeq}));
			ledger.isStarted = true;
		} catch (error) {
			const isUnknown = error.message === `unknown process id ${ledger.id}`;
			this.#violations.expect(isUnknown, 'catching up', `${ledger.id}: ${error.message}`);
			// It may have closed behind our back, or while we did not listen, and been forgotten since; or its start never
			// arrived.
			if (performance.now() - Math.min(cutAt, this.#lastDeafness) > RETAINED_MS - TOLERANCE_MS)
				ledger.abandon(new Forgotten(ledger.id));
			else this.#violations.expect(!ledger.isStarted, 'forgotten too early', ledger.id);
		}
	}
}
