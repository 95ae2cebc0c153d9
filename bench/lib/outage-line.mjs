import {once} from 'node:events';
import {connect, createServer} from 'node:net';

/**
 * Ports that the system gives to nobody by itself: a port that is closed for a while must not be taken meanwhile, nor be the
 * port of the very client that tries to connect to it.
 */
const [FIRST_PORT, LAST_PORT] = [20_000, 32_000];

/** A TCP proxy that can be down: its connections are broken then, and others are refused. */
export class OutageLine {
	/** Seconds from the end of the outage to each connection after it. */
	returns = [];
	#target;
	#port;
	#listener;
	#upAt;
	#open = new Set();

	/** In front of a `ws:` or `http:` address. */
	static async to(address) {
		const {port, protocol} = new URL(address);
		const line = new OutageLine();
		line.#target = Number(port);
		while (!line.#listener) {
			line.#port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
			await line.#listen().catch(() => {});
		}
		line.url = `${protocol}//127.0.0.1:${line.#port}`;
		return line;
	}

	goDown() {
		this.close();
	}

	async comeBack() {
		await this.#listen();
		this.#upAt = performance.now();
	}

	close() {
		this.#listener?.close();
		for (const socket of this.#open) socket.destroy();
	}

	async #listen() {
		const listener = createServer(near => this.#join(near, connect(this.#target, '127.0.0.1')));
		listener.listen(this.#port, '127.0.0.1');
		await once(listener, 'listening');
		this.#listener = listener;
	}

	#join(near, far) {
		if (this.#upAt !== undefined) this.returns.push((performance.now() - this.#upAt) / 1000);
		for (const [from, to] of [
			[near, far],
			[far, near],
		]) {
			this.#open.add(from);
			from.setNoDelay(true);
			from.on('error', () => to.destroy());
			from.on('close', () => {
				this.#open.delete(from);
				to.destroy();
			});
			from.pipe(to);
		}
	}
}
