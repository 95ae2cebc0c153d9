import {WebSocket} from 'ws';

/** A WebSocket client of an exec server that sends messages as they are given, valid or not. */
export class RawClient {
	/** Notifications and requests that the server sent, in order. */
	received = [];
	/** Times of the server's pings, in milliseconds of `performance.now()`. */
	pings = [];
	#socket;
	#nextId = 1;
	#pending = new Map();
	#answer;

	/** `answer` returns the result of a request of the server. */
	static async connect(url, {answer = () => ({})} = {}) {
		const client = new RawClient(new WebSocket(url, {perMessageDeflate: false}), answer);
		await client.#opened();
		return client;
	}

	constructor(socket, answer) {
		this.#socket = socket;
		this.#answer = answer;
		socket.on('message', data => this.#receive(JSON.parse(data.toString('utf8'))));
		socket.on('ping', () => this.pings.push(performance.now()));
		socket.on('error', () => {});
		socket.on('close', () => this.#fail());
	}

	/** Sends a request; settles with the whole answer, which has a `result` or an `error`. */
	call(method, params) {
		const id = this.#nextId++;
		const answered = new Promise((resolve, reject) => {
			this.#pending.set(id, {resolve, reject});
		});
		this.#socket.send(JSON.stringify({id, method, params}));
		return answered;
	}

	notify(method, params) {
		this.#socket.send(JSON.stringify({method, params}));
	}

	/** Opens a session, or resumes one; settles with the answer to `initialize`. */
	async greet(resumeSessionId = null) {
		const answer = await this.call('initialize', {clientName: 'longarm-recorder', resumeSessionId});
		if (answer.result) this.notify('initialized', {});
		return answer;
	}

	/** Ends the connection without a closing handshake. */
	drop() {
		this.#socket.terminate();
	}

	async #opened() {
		await new Promise((resolve, reject) => {
			this.#socket.once('open', resolve);
			this.#socket.once('error', reject);
		});
	}

	#receive(message) {
		if (message.method === undefined) {
			this.#pending.get(message.id)?.resolve(message);
			this.#pending.delete(message.id);
			return;
		}
		this.received.push(message);
		if (message.id !== undefined) this.#socket.send(JSON.stringify({id: message.id, result: this.#answer(message)}));
	}

	#fail() {
		for (const {reject} of this.#pending.values()) reject(new Error('the server closed the connection'));
		this.#pending.clear();
	}
}
