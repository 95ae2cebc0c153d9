import {connect, createServer} from 'node:net';

/** A TCP proxy in front of a server, which can stop serving and then records each attempt of a client to connect. */
export class OutageLine {
	/** Times of the attempts since the outage began, in milliseconds: `{startedAt, endedAt}`. */
	attempts = [];
	/** `none`: connections reach the server; `refuse`: they are closed at once; `silent`: they are accepted and never answered. */
	#outage = 'none';
	#beganAt = 0;
	#target;
	#sockets = new Set();
	#refusal;
	#listener = createServer(socket => this.#accept(socket));

	/** `refusal` is sent to a client before its connection is closed. */
	constructor(serverUrl, {refusal} = {}) {
		this.#target = Number(new URL(serverUrl).port);
		this.#refusal = refusal;
	}

	async start() {
		await new Promise(resolve => {
			this.#listener.listen(0, '127.0.0.1', resolve);
		});
		this.url = `ws://127.0.0.1:${this.#listener.address().port}`;
		return this;
	}

	/** Cuts every connection, and refuses or ignores new ones. */
	beginOutage(kind) {
		this.#outage = kind;
		this.#beganAt = performance.now();
		this.attempts = [];
		for (const socket of this.#sockets) socket.destroy();
	}

	/** Milliseconds since the outage began. */
	get elapsed() {
		return performance.now() - this.#beganAt;
	}

	stop() {
		for (const socket of this.#sockets) socket.destroy();
		this.#listener.close();
	}

	#accept(near) {
		this.#follow(near);
		if (this.#outage === 'none') return this.#join(near);
		const attempt = {startedAt: this.elapsed, endedAt: undefined};
		this.attempts.push(attempt);
		near.on('close', () => {
			attempt.endedAt = this.elapsed;
		});
		if (this.#outage === 'silent') near.resume();
		else if (this.#refusal === undefined) near.destroy();
		else near.resume().once('data', () => near.end(this.#refusal));
	}

	#join(near) {
		const far = connect(this.#target, '127.0.0.1');
		this.#follow(far);
		near.on('close', () => far.destroy());
		far.on('close', () => near.destroy());
		near.pipe(far).pipe(near);
	}

	#follow(socket) {
		this.#sockets.add(socket);
		socket.on('error', () => {});
		socket.on('close', () => this.#sockets.delete(socket));
	}
}
