// A JSON-RPC peer over a WebSocket or over a child's stdio. It keeps every message it receives, in order,
// so that a test can look back at what arrived as well as wait for what is still to come.
import {WebSocket} from 'ws';
import {launch} from './launch.mjs';
import {DEADLINE_MS} from './time.mjs';

export class RpcError extends Error {
	constructor({code, message}) {
		super(`${message} (${code})`);
		this.code = code;
	}
}

export class Peer {
	inbox = [];
	closed = false;
	started = new Set();
	#nextId = 1;
	#checks = new Set();

	/** `end` breaks the connection off, `close` lets the server finish reading first. */
	constructor({write, end, close}) {
		Object.assign(this, {write, end, close});
	}

	/** Takes a message as text or as its bytes. */
	receive(data) {
		const text = data.toString();
		let message;
		try {
			message = JSON.parse(text);
		} catch {
			message = {unparsable: text};
		}
		this.inbox.push(message);
		this.#runChecks();
	}

	hangup() {
		this.closed = true;
		this.#runChecks();
	}

	send(message) {
		this.write(JSON.stringify(message));
	}

	notify(method, params) {
		this.send({method, params});
	}

	/** Sends a request and returns its id without waiting for the reply. */
	post(method, params, id = this.#nextId++) {
		if (method === 'process/start') this.started.add(params.processId);
		this.send({id, method, params});
		return id;
	}

	/** Resolves to the raw reply, which has either `result` or `error`. */
	reply(id, ms) {
		return this.find(message => isReplyTo(id, message), ms, `a reply to request ${JSON.stringify(id)}`);
	}

	/** The reply if it has arrived already. */
	replied(id) {
		return this.inbox.find(message => isReplyTo(id, message));
	}

	/** Sends a request; resolves to its result or throws RpcError. */
	async call(method, params, ms) {
		const {result, error} = await this.reply(this.post(method, params), ms);
		if (error) throw new RpcError(error);
		return result;
	}

	/** Sends a request that must fail; resolves to its error object. */
	async fail(method, params, ms) {
		const {result, error} = await this.reply(this.post(method, params), ms);
		if (!error) throw new Error(`${method}: expected an error, got ${JSON.stringify(result)?.slice(0, 200)}`);
		return error;
	}

	/** The params of every notification of one method, in arrival order. */
	notes(method) {
		return this.inbox.filter(message => message.method === method).map(message => message.params);
	}

	/** Waits for the first message, old or new, that matches. */
	find(matches, ms, what = 'a message') {
		let seen = 0;
		const probe = () => {
			while (seen < this.inbox.length) {
				const message = this.inbox[seen++];
				if (matches(message)) return message;
			}
		};
		return this.until(probe, what, ms);
	}

	/** Waits until `probe` returns something truthy; fails at the deadline or once the connection is gone. */
	until(probe, what = 'a condition', ms = DEADLINE_MS) {
		return new Promise((resolve, reject) => {
			const settle = (finish, value) => {
				clearTimeout(timer);
				this.#checks.delete(check);
				finish(value);
			};
			const check = () => {
				const value = probe();
				if (value) settle(resolve, value);
				else if (this.closed) settle(reject, new Error(`expected ${what}, but the connection closed`));
			};
			const timer = setTimeout(() => settle(reject, new Error(`expected ${what} within ${ms} ms`)), ms);
			this.#checks.add(check);
			check();
		});
	}

	untilClosed() {
		return this.until(() => this.closed, 'the server to close the connection');
	}

	/** Performs the handshake; resolves to the initialize result. */
	async initialize(params = {}) {
		const result = await this.call('initialize', {clientName: 'conformance', ...params});
		this.notify('initialized', {});
		this.sessionId = result.sessionId;
		return result;
	}

	#runChecks() {
		// Deleting the current element of a Set does not disturb its iteration.
		for (const check of this.#checks) check();
	}
}

export function connectWs(url, options = {}) {
	return new Promise((resolve, reject) => {
		const socket = new WebSocket(url, {maxPayload: 0, perMessageDeflate: false, ...options});
		const peer = new Peer({
			write: text => socket.send(text),
			end: () => socket.terminate(),
			close: () => socket.close(),
		});
		peer.socket = socket;
		socket.on('open', () => resolve(peer));
		socket.on('message', data => peer.receive(data));
		socket.on('close', () => peer.hangup());
		socket.on('error', reject);
		socket.on('unexpected-response', (_, {statusCode}) => {
			reject(Object.assign(new Error(`HTTP ${statusCode}`), {statusCode}));
			socket.terminate();
		});
	});
}

export function connectStdio(command, env) {
	const child = launch(command, env, 'pipe');
	const end = () => child.stdin.end();
	const peer = new Peer({write: text => child.stdin.write(`${text}\n`), end, close: end});
	peer.child = child;
	let rest = '';
	child.stdout.setEncoding('utf8').on('data', text => {
		const lines = (rest + text).split('\n');
		rest = lines.pop();
		for (const line of lines) if (line) peer.receive(line);
	});
	child.stdout.on('end', () => peer.hangup());
	child.stdin.on('error', () => {});
	child.stderr.resume();
	return peer;
}

function isReplyTo(id, message) {
	return message.id === id && message.method === undefined;
}
