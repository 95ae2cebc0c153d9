import {CutError, connect, NoReplyError, ReplyError, startParams} from '../lib/client.mjs';
import {livingProcesses} from '../lib/process-search.mjs';
import {delay, until} from '../lib/waiting.mjs';
import {ObservedProcess} from './observed-process.mjs';

/** The settings the server is started with. */
const DETACHED_MS = 3000;
const RETAINED_MS = 2000;
export const SERVER_SETTINGS = ['--detached-session', `${DETACHED_MS}ms`, '--retain-closed', `${RETAINED_MS}ms`];
/** Clocks and a busy machine: what happens this close to a limit may go either way. */
const TOLERANCE_MS = 300;
/** How long the server may take to notice that a connection is gone. */
const NOTICE_MS = 5000;
/** Events of a finished process are a violation; it is remembered that long to notice them. */
const LISTEN_ON_MS = 5000;
const SESSION_ATTACHED = -32_010;

/** The session has expired, as it should: everything in it is over. */
export class SessionExpiredError extends Error {}

/** The process closed while nobody was connected, for longer than it is retained. */
export class ProcessExpiredError extends Error {}

/** A session across many connections: calls that a disconnect interrupts go on over the next connection. */
export class ResumableSession {
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
	#observed = new Map();
	#client;
	/** When reading was last paused: events sent since then may not have been received before a cut. */
	#readingPausedAt = Number.POSITIVE_INFINITY;
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

	/** Sends a request again after each cut until it is answered: only for requests that may be repeated. */
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

	/** Starts a process and observes it. A start that was cut off may have happened: then it is found afterwards. */
	async start({id, contents, mark, ...rest}) {
		const observed = this.#expect(id, contents, mark);
		while (!observed.isStarted) {
			const client = await this.#connected;
			if (observed.isStarted) break;
			if (observed.abandoned) throw observed.abandoned;
			this.calls++;
			try {
				await client.call('process/start', startParams({id, ...rest}));
				observed.isStarted = true;
			} catch (error) {
				if (error instanceof CutError) continue;
				this.#observed.delete(id);
				throw error;
			}
		}
		return observed;
	}

	#expect(id, contents, mark) {
		const observed = Object.assign(new ObservedProcess(id, contents, this.#violations), {mark, isStarted: false});
		this.#observed.set(id, observed);
		observed.finished.then(
			() => this.#finished(observed),
			() => {},
		);
		return observed;
	}

	#finished({id, closedSeq, totalBytes, missedBytes}) {
		this.events += closedSeq;
		this.bytes += totalBytes;
		this.missedBytes += missedBytes;
		setTimeout(() => this.#observed.delete(id), LISTEN_ON_MS).unref();
	}

	/** Stops reading for a while: back-pressure must not lose output. */
	async pauseReading(ms) {
		const {socket} = this.#client;
		this.#readingPausedAt = performance.now();
		socket.pause();
		await delay(ms);
		socket.resume();
	}

	/** Drops the connection without a close frame, resumes after the time and catches up. */
	async disconnectFor(awayMs) {
		const {resolve, cutAt} = await this.#disconnect();
		await delay(awayMs);
		await this.#goOn(await this.#resume(cutAt), {resolve, cutAt, awayMs});
	}

	/** Falls silent without a word, as behind a router that has forgotten the connection, and resumes over a new one. */
	async vanishFor(awayMs) {
		const resolve = this.#leave();
		const {socket, closed} = this.#client;
		const cutAt = performance.now();
		socket.pause();
		await delay(awayMs);
		const client = await this.#resume(cutAt);
		// Calls under way fail only here: the old connection never says that it is over.
		socket.terminate();
		await closed;
		await this.#goOn(client, {resolve, cutAt, awayMs});
	}

	async #goOn(client, {resolve, cutAt, awayMs}) {
		if (!client) {
			this.#giveUp(resolve, new SessionExpiredError(`lost after ${awayMs} ms away`));
			return;
		}
		this.#client = client;
		await Promise.all([...this.#observed.values()].map(observed => this.#catchUpAfterCut(client, observed, cutAt)));
		this.#readingPausedAt = Number.POSITIVE_INFINITY;
		resolve(client);
	}

	/** Disconnects for longer than the session is kept: it has to be gone, with everything in it. */
	async checkExpiry() {
		const {resolve} = await this.#disconnect();
		await delay(DETACHED_MS + TOLERANCE_MS * 5);
		const {sessionId} = this.#client;
		const error = await connect(this.#url, {resumeSessionId: sessionId}).then(
			() => new Error('it was resumed'),
			refusal => refusal,
		);
		this.#violations.expect(error.message === `unknown session id ${sessionId}`, 'session expiry', error.message);
		const marks = [...this.#observed.values()].map(({mark}) => mark);
		const living = () => livingProcesses(({command}) => marks.some(mark => command.includes(mark)));
		await until(() => living().length === 0, {withinMs: 1000});
		for (const {pid, command} of living()) this.#violations.add('survived its session', `${pid} ${command}`);
		this.#giveUp(resolve, new SessionExpiredError('the session has expired'));
	}

	/** Rejects everything that waits in this session. */
	#giveUp(resolve, error) {
		this.isOver = true;
		for (const observed of this.#observed.values()) observed.abandon(error);
		resolve(Promise.reject(error));
	}

	/** Another connection can neither resume the session while we hold it nor see its processes. */
	async checkIsolation() {
		const {sessionId} = await this.#connected;
		const cutsBefore = this.cuts;
		const refused = await connect(this.#url, {resumeSessionId: sessionId}).then(
			() => undefined,
			error => error.code,
		);
		// While we are disconnected ourselves another connection may resume it.
		if (this.cuts > cutsBefore) return;
		this.#violations.expect(refused === SESSION_ATTACHED, 'second connection to a session', `${refused}`);
		const other = await connect(this.#url);
		for (const id of [...this.#observed.keys()].slice(0, 3)) {
			const {message} = await other.call('process/read', {processId: id}).catch(error => error);
			this.#violations.expect(message === `unknown process id ${id}`, 'isolation', `another session read ${id}`);
			const {status} = await other.call('process/write', {processId: id, chunk: 'eA==', writeId: 'x'});
			this.#violations.expect(status === 'unknownProcess', 'isolation', `another session wrote to ${id}: ${status}`);
		}
		const {processes} = await other.call('process/list', {});
		this.#violations.expect(processes.length === 0, 'isolation', `another session saw ${processes.length} processes`);
		other.socket.close();
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
			const observed = this.#observed.get(params.processId);
			if (observed) {
				// A start whose reply was cut off: its events may come with the reply to `initialize`, before anything is read.
				observed.isStarted = true;
				observed.notified(method, params);
			} else this.#violations.add('event of an unknown process', `${method} ${JSON.stringify(params).slice(0, 200)}`);
		};
		const client = await connect(this.#url, {resumeSessionId, notified});
		client.socket.once('close', () => {
			this.#violations.expect(number !== this.#connections, 'connection lost', `session ${client.sessionId}`);
		});
		return client;
	}

	async #disconnect() {
		const resolve = this.#leave();
		this.#client.socket.terminate();
		await this.#client.closed;
		return {resolve, cutAt: performance.now()};
	}

	/** From here on calls wait for the next connection, and what the present one says is ignored. */
	#leave() {
		let resolve;
		this.#connected = new Promise(settle => {
			resolve = settle;
		});
		this.#connected.catch(() => {});
		this.cuts++;
		this.#connections++;
		for (const observed of this.#observed.values()) observed.reattach();
		return resolve;
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

	async #catchUpAfterCut(client, observed, cutAt) {
		if (observed.isFinished || observed.abandoned) return;
		const afterSeq = observed.seen;
		try {
			observed.page(afterSeq, true, await client.call('process/read', {processId: observed.id, afterSeq}));
			observed.isStarted = true;
		} catch (error) {
			const isUnknown = error.message === `unknown process id ${observed.id}`;
			this.#violations.expect(isUnknown, 'catching up', `${observed.id}: ${error.message}`);
			// It may have closed while we were disconnected or not reading, and expired since; or its start never arrived.
			if (performance.now() - Math.min(cutAt, this.#readingPausedAt) > RETAINED_MS - TOLERANCE_MS)
				observed.abandon(new ProcessExpiredError(observed.id));
			else this.#violations.expect(!observed.isStarted, 'forgotten too early', observed.id);
		}
	}
}
