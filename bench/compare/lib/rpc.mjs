// Client side of the protocol without a transport: the load generator, built to cost little per byte received.
import {Assembler, parseWhole} from './messages.mjs';

export class Rpc {
	/** Output of processes by id: an object with `output`, `exit`, `close` and `abort`. */
	processes = new Map();
	/** Called with the error that ended the connection. */
	onClosed = null;
	closed = null;
	#assembler = new Assembler();
	#nextId = 1;
	#pending = new Map();
	#bodies = new Map();

	/** Keeps large messages whole, for replies with many fields; off while streaming. */
	set capture(isOn) {
		this.#assembler.capture = isOn;
	}

	fail(reason) {
		if (this.closed) return;
		this.closed = reason instanceof Error ? reason : new Error(String(reason));
		for (const {reject} of this.#pending.values()) reject(this.closed);
		this.#pending.clear();
		for (const process of this.processes.values()) process.abort(this.closed);
		for (const body of this.#bodies.values()) body.abort(this.closed);
		this.onClosed?.(this.closed);
	}

	/** A piece of a message, as the reader of a transport gives it. */
	receive(buffer, start, end, isLast) {
		if (isLast && this.#assembler.length === 0) {
			if (end > start) this.#deliver(parseWhole(buffer, start, end));
			return;
		}
		this.#assembler.push(buffer, start, end);
		if (isLast) this.#deliver(this.#assembler.finish());
	}

	#deliver(message) {
		const {method, params} = message.json;
		if (method === undefined) {
			this.#settle(message);
			return;
		}
		switch (method) {
			case 'process/output':
				this.processes.get(params.processId)?.output(params, message.bulkBytes);
				break;
			case 'process/exited':
				this.processes.get(params.processId)?.exit(params);
				break;
			case 'process/closed':
				this.processes.get(params.processId)?.close(params);
				break;
			case 'http/request/bodyDelta':
				this.#bodies.get(params.requestId)?.delta(params, message.bulkBytes);
				break;
			default:
				break;
		}
	}

	/** The result; with `isRaw` the message it came in, which knows the size of its bulk data. */
	call(method, params, isRaw = false) {
		return this.callText(method, JSON.stringify(params), isRaw);
	}

	/** A request whose params are JSON text already (bulk uploads). */
	callText(method, paramsText, isRaw = false) {
		if (this.closed) return Promise.reject(this.closed);
		return new Promise((resolve, reject) => {
			const id = this.#nextId++;
			this.#pending.set(id, {resolve, reject, method, isRaw});
			this.sendText(`{"id":${id},"method":"${method}","params":${paramsText}}`);
		});
	}

	notify(method, params) {
		this.sendText(JSON.stringify({method, params}));
	}

	async initialize() {
		const result = await this.call('initialize', {clientName: 'bench', resumeSessionId: null});
		this.notify('initialized', {});
		return result;
	}

	/** Starts a process; its `started` settles with the reply, its `done` at `process/closed`. */
	start(processId, argv, {onOutput, tty = false, pipeStdin = false} = {}) {
		const started = new RemoteProcess(processId, onOutput);
		this.processes.set(processId, started);
		const forget = () => this.processes.delete(processId);
		started.done.then(forget, forget);
		started.started = this.call('process/start', {
			processId,
			argv,
			cwd: 'file:///',
			env: {PATH: process.env.PATH},
			tty,
			pipeStdin,
			arg0: null,
		});
		started.started.catch(error => started.abort(error));
		return started;
	}

	write(processId, chunk) {
		return this.call('process/write', {processId, chunk, writeId: `w${this.#nextId}`});
	}

	terminate(processId) {
		return this.call('process/terminate', {processId});
	}

	/** An HTTP request whose body comes in pieces; its `response` settles with the reply, its `done` with the last piece. */
	httpStream(params) {
		const body = new ResponseBody();
		this.#bodies.set(params.requestId, body);
		const forget = () => this.#bodies.delete(params.requestId);
		body.done.then(forget, forget);
		body.response = this.call('http/request', {...params, streamResponse: true});
		body.response.catch(error => body.abort(error));
		return body;
	}

	#settle(message) {
		const {id, error, result} = message.json;
		const call = this.#pending.get(id);
		if (!call) return;
		this.#pending.delete(id);
		if (error) call.reject(new Error(`${call.method}: ${error.message} (${error.code})`));
		else call.resolve(call.isRaw ? message : result);
	}
}

/** A promise that may be left alone when it rejects. */
class Deferred {
	constructor() {
		this.done = new Promise((resolve, reject) => {
			this.resolve = resolve;
			this.reject = reject;
		});
		this.done.catch(() => {});
	}

	abort(error) {
		this.reject(error);
	}
}

class RemoteProcess extends Deferred {
	bytes = 0;
	/** Number of output notifications. */
	chunks = 0;
	/** Number of notifications that came after one with a higher `seq`. */
	disorder = 0;
	#events = 0;
	#topSeq = 0;

	constructor(id, onOutput) {
		super();
		this.id = id;
		this.onOutput = onOutput;
	}

	/** Number of notifications that never came. */
	get missing() {
		return this.#topSeq - this.#events;
	}

	output({seq}, bytes) {
		this.bytes += bytes;
		this.chunks++;
		this.#count(seq);
		if (this.onOutput) this.onOutput(bytes);
	}

	exit({seq}) {
		this.#count(seq);
	}

	close({seq}) {
		this.#count(seq);
		this.resolve(this);
	}

	#count(seq) {
		this.#events++;
		if (seq < this.#topSeq) this.disorder++;
		else this.#topSeq = seq;
	}
}

class ResponseBody extends Deferred {
	bytes = 0;
	chunks = 0;
	/** Number of pieces that did not follow the one before. */
	gaps = 0;
	#lastSeq = 0;

	delta({seq, error, done}, bytes) {
		if (bytes > 0) {
			this.bytes += bytes;
			this.chunks++;
		}
		if (seq !== this.#lastSeq + 1) this.gaps++;
		this.#lastSeq = seq;
		if (error) this.reject(new Error(error));
		else if (done) this.resolve(this);
	}
}

/** Ends a process that floods: milliseconds until the reply and until its end, and the bytes that still came. */
export async function stopFlood(client, flood) {
	const began = performance.now();
	const before = flood.bytes;
	await client.terminate(flood.id);
	const answered = performance.now() - began;
	await flood.done;
	return {ms: performance.now() - began, answered, after: flood.bytes - before};
}
