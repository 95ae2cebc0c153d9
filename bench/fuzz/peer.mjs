import {isUtf8} from 'node:buffer';
import {setImmediate as turn} from 'node:timers/promises';
import {delay} from '../lib/waiting.mjs';
import {isObject, parsed, refusal} from './classify.mjs';
import {kinds, outcomes, totals} from './counters.mjs';
import {Expectations} from './expectations.mjs';
import {fatal} from './fatal.mjs';
import {generate} from './generate.mjs';
import {ANSWER_MS, HANG_UP_MS} from './limits.mjs';
import {LiveProcesses, roomFor} from './live-processes.mjs';
import {METHODS, NUMBERED, namedParams, STARTS, WITH_HANDLE, WITH_WATCH} from './methods.mjs';
import {withNamesOfRun} from './stand-ins.mjs';
import {StdioLink} from './stdio-link.mjs';
import {shown, Transcript, Violation} from './violation.mjs';
import {WebSocketLink} from './web-socket-link.mjs';

/** In place of random numbers for messages that are sent without variation. */
const PLAIN = {chance: () => false};
/** Digits of the number of a question. */
const QUESTION_DIGITS = 6;
const ERROR_CODES = new Set([-32600, -32601, -32602, -32603, -32004, -32010]);

/** The far end of one connection: sends what was made, knows what has to come back, and says so when it does not. */
export class Peer {
	/** How far the handshake is: `new`, `greeted` or `ready`. */
	state = 'new';
	/** Something was sent already. */
	talked = false;
	transcript = new Transcript();
	#expectations = new Expectations();
	#live = new LiveProcesses();
	#ending = 'no';
	#watchers = new Set();
	#violation;
	/** The number of the last event of each process. */
	#seqs = new Map();
	/** Processes whose events are delivered again, or were started elsewhere. */
	#attached = new Set();
	/** Processes of the first protocol, which no list shows: how many there may be, and those that are over. */
	#v0 = {asked: 0, over: new Set()};
	/** Handles that may be open files. */
	#handles = new Set();
	/** Ids of what may be watched. */
	#watches = new Set();
	#questions = 0;

	static async connect(episode) {
		const link = await (episode.transport === 'ws' ? WebSocketLink : StdioLink).open(episode.server);
		const peer = new Peer(episode, link);
		episode.peers.push(peer);
		totals.connections++;
		return peer;
	}

	constructor(episode, link) {
		this.episode = episode;
		this.link = link;
		link.onMessage = bytes => this.#guard(() => this.#receive(bytes));
		link.onClose = problem => this.#guard(() => this.#closed(problem));
	}

	/** Sends so many messages and waits until the server has answered them, and a probe behind them. */
	async exchange(size) {
		const {random} = this.episode;
		const packets = await this.#prepare(size);
		const probe = this.#probe();
		packets.push(probe.packet);
		if (random.chance(0.02)) await this.#slowly(Buffer.concat(packets));
		else if (random.chance(0.05)) await this.#inPieces(Buffer.concat(packets));
		else this.write(Buffer.concat(packets));
		await probe.answer();
		await this.#until(() => this.#expectations.promptOnesMet, 'an answer');
	}

	/** Sends so many messages and ends the connection without waiting for anything. */
	async exchangeAndEnd(size, endConnection) {
		const packets = await this.#prepare(size);
		this.#ending = 'expected';
		this.write(Buffer.concat(packets));
		endConnection();
	}

	/** Sends something that the server has to hang up on. */
	async provoke() {
		const {bytes, name} = fatal(this);
		totals.messages++;
		kinds.add(`fatal: ${name}`);
		this.#ending = 'expected';
		this.transcript.sent(bytes);
		this.write(bytes);
		await this.gone(bytes);
	}

	ask(method, params) {
		const question = this.#question(method, params);
		this.write(question.packet);
		return question.answer();
	}

	becomeReady() {
		this.state = 'ready';
		this.write(this.link.pack({payload: '{"method":"initialized"}'}, PLAIN));
	}

	/** Ends everything that was started here; then even requests that wait for a process have to be answered. */
	async sweep() {
		if (this.state !== 'ready') return;
		for (const {processId} of await this.#alive()) await this.ask('process/terminate', {processId});
		for (const sessionId of this.#aliveV0()) await this.ask('command/exec/terminate', {sessionId});
		await this.#until(() => this.#expectations.allMet, 'an answer');
		let left = await this.#alive();
		for (let tries = 0; left.length > 0 && tries < 100; tries++) {
			await delay(50);
			left = await this.#alive();
		}
		if (left.length > 0) throw new Violation(`processes that were terminated live on: ${JSON.stringify(left)}`);
	}

	/** Closes files that the client has opened, and ends its watches: they are its own until then, or until the connection ends. */
	async closeFiles() {
		for (const handleId of this.#handles) await this.ask('fs/close', {handleId});
		this.#handles.clear();
		for (const watchId of this.#watches) await this.ask('fs/unwatch', {watchId});
		this.#watches.clear();
	}

	write(bytes) {
		totals.sentBytes += bytes.length;
		this.link.write(bytes);
	}

	close() {
		this.#ending = 'expected';
		this.link.close();
	}

	drop() {
		if (this.#ending === 'over') return;
		this.#ending = 'expected';
		this.link.destroy();
	}

	/** Settles when the connection is over; on stdio, when the server has exited as it should. */
	async gone(cause) {
		await this.#until(() => this.#ending === 'over', 'the server to hang up', {ms: HANG_UP_MS, cause});
	}

	async #prepare(size) {
		this.talked = true;
		const batch = Array.from({length: size}, () => generate(this));
		const classifications = batch.flatMap(message => message.classifications);
		await roomFor(classifications.filter(isStart).length, () => this.sweep());
		return batch.map(message => {
			totals.messages++;
			kinds.add(message.kind);
			this.transcript.sent(message.payload);
			for (const classification of message.classifications) this.#expect(classification, message.payload);
			return this.link.pack(message, this.episode.random);
		});
	}

	#probe() {
		totals.probes++;
		const ready = this.state === 'ready';
		const {packet, answer} = this.#question(ready ? 'environment/status' : 'fuzz/probe');
		return {
			packet,
			async answer() {
				const {result, error} = await answer();
				if (ready ? result?.status === 'ready' : error?.code === -32601) return;
				throw new Violation(`a probe was answered with ${JSON.stringify(result ?? error)}`);
			},
		};
	}

	/** A request outside the episode: it takes nothing from its random numbers. */
	#question(method, params) {
		this.talked = true;
		// Of one length: how a batch is cut must not depend on how many were asked in between.
		const id = `q${String(++this.#questions).padStart(QUESTION_DIGITS, '0')}`;
		const text = withNamesOfRun(JSON.stringify({id, method, params}));
		let reply;
		this.transcript.sent(text);
		this.#expect({kind: 'request', key: `s${id}`, method}, text, message => {
			reply = message;
		});
		return {
			packet: this.link.pack({payload: text}, PLAIN),
			answer: async () => {
				await this.#until(() => reply !== undefined, 'an answer', {cause: text});
				return reply;
			},
		};
	}

	async #alive() {
		const {result} = await this.ask('process/list');
		return result.processes.filter(({state}) => state === 'running' || state === 'starting');
	}

	#aliveV0() {
		const {asked, over} = this.#v0;
		return Array.from({length: asked}, (_, index) => `session-${index + 1}`).filter(id => !over.has(id));
	}

	/** The client does not read for a while. */
	async #slowly(bytes) {
		this.link.pause();
		this.write(bytes);
		await delay(20);
		this.link.resume();
	}

	/** The same bytes, cut anywhere. */
	async #inPieces(bytes) {
		const {random} = this.episode;
		const cuts = Array.from({length: 1 + random.below(8)}, () => random.below(bytes.length)).sort((a, b) => a - b);
		let start = 0;
		this.link.beginPieces();
		for (const cut of [...cuts, bytes.length]) {
			this.write(bytes.subarray(start, cut));
			start = cut;
			await turn();
		}
		this.link.endPieces();
	}

	#expect(classification, payload, settled) {
		if (isStart(classification)) {
			totals.starts++;
			this.#live.started();
			if (classification.method === 'command/exec') this.#v0.asked++;
		}
		const {kind, method} = classification;
		const params = namedParams(method, classification.params);
		if (kind === 'request' && WITH_HANDLE.has(method) && typeof params?.handleId === 'string') {
			this.#handles.add(params.handleId);
		}
		if (kind === 'request' && WITH_WATCH.has(method) && typeof params?.watchId === 'string') {
			this.#watches.add(params.watchId);
		}
		this.#expectations.add(classification, payload, settled);
	}

	#receive(bytes) {
		totals.receivedBytes += bytes.length;
		this.transcript.received(bytes);
		if (!isUtf8(bytes)) throw new Violation('the server sent what is not UTF-8', bytes);
		const text = bytes.toString();
		const message = parsed(text);
		if (!isObject(message)) throw new Violation('the server sent what is not a JSON object', text);
		if (Object.hasOwn(message, 'jsonrpc')) throw new Violation('the server sent a `jsonrpc` member', text);
		if (Object.hasOwn(message, 'method')) this.#notified(message, text);
		else this.#replied(message, text);
		this.#wake();
	}

	#replied(message, text) {
		const {result, error} = message;
		const wellFormed = Object.hasOwn(message, 'result') ? isObject(result) && !error : isErrorObject(error);
		if (!wellFormed) throw new Violation('the server sent neither a result nor an error', text);
		const request = this.#expectations.take(message, text);
		// Only half a surrogate pair is written as such an escape; other parsers refuse the whole message.
		const flaw = /\\u[dD][89a-fA-F]/.test(text) ? refusal(text) : undefined;
		if (flaw) throw new Violation(`the server sent ${flaw}: ${shown(text, 500)}`, request?.payload);
		if (error?.message === 'internal error')
			throw new Violation(`a handler failed: ${this.link.stderr}`, request?.payload);
		outcomes.add(error ? `error ${error.code}${request ? '' : ', id -1'}` : 'result');
		if (!request) return;
		const {method, payload, settled} = request;
		// A mutated message may share its id with one that opens a session.
		if (result && this.state !== 'ready' && method !== 'initialize' && !result.sessionId) {
			throw new Violation(`${method} has a result before the handshake`, payload);
		}
		if (error && STARTS.has(method)) this.#live.ended();
		// Events are delivered again from any one on.
		if (result && method === 'process/attach') {
			this.#seqs.delete(result.processId);
			this.#attached.add(result.processId);
		}
		settled?.(message);
	}

	#notified({id, method, params}, text) {
		const declared = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
		const kind = id === undefined ? 'notification' : 'request';
		if (declared?.from !== 'server' || declared.kind !== kind) throw new Violation(`an unknown ${kind}`, text);
		const {issues} = declared.params['~standard'].validate(params);
		if (issues) throw new Violation(`params that ${method} does not declare: ${issues[0].message}`, text);
		outcomes.add(method);
		const isCounted =
			method === 'process/exited' ? !this.#attached.has(params.processId) : method === 'command/exec/exited';
		if (isCounted) this.#live.ended();
		if (method === 'command/exec/exited') this.#v0.over.add(params.sessionId);
		if (method === 'process/gap') this.#seqs.set(params.processId, params.throughSeq);
		if (NUMBERED.has(method)) this.#inOrder(method, params, text);
	}

	/** Upstream does not promise the order of the numbers; this server does. */
	#inOrder(method, {processId, seq}, text) {
		const last = this.#seqs.get(processId) ?? seq - 1;
		if (seq !== last + 1) throw new Violation(`event ${seq} of process ${processId} follows ${last}`, text);
		if (method === 'process/closed') this.#seqs.delete(processId);
		else this.#seqs.set(processId, seq);
	}

	#closed(problem) {
		const expected = this.#ending === 'expected';
		this.#ending = 'over';
		this.#live.leave(this.episode.transport);
		if (problem) throw new Violation(problem);
		if (!expected) throw new Violation('the server hung up without a cause');
		this.#wake();
	}

	/** An error inside an event handler is thrown where the episode waits. */
	#guard(action) {
		try {
			action();
		} catch (error) {
			this.#violation ??= error;
			this.#wake();
		}
	}

	#until(probe, what, {ms = ANSWER_MS, cause} = {}) {
		return new Promise((resolve, reject) => {
			const finish = settle => {
				clearTimeout(timer);
				this.#watchers.delete(check);
				settle();
			};
			const fail = problem => finish(() => reject(new Violation(problem, cause ?? this.#expectations.missing)));
			const check = () => {
				if (this.#violation) finish(() => reject(this.#violation));
				else if (probe()) finish(resolve);
				else if (this.#ending === 'over') fail(`the server hung up before ${what}`);
			};
			const timer = setTimeout(() => fail(`no sign of ${what} after ${ms} ms, ${this.#expectations.summary}`), ms);
			this.#watchers.add(check);
			check();
		});
	}

	#wake() {
		for (const check of this.#watchers) check();
	}
}

function isStart({kind, method}) {
	return kind === 'request' && STARTS.has(method);
}

function isErrorObject(error) {
	return isObject(error) && ERROR_CODES.has(error.code) && typeof error.message === 'string';
}
