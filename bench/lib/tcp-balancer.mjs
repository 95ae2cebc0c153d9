import {once} from 'node:events';
import {connect, createServer} from 'node:net';

const CHECK_MS = 300;
const ANSWER_MS = 1000;

/** A plain TCP balancer: connections go to the next server whose `/readyz` says 200, and are never moved. */
export class TcpBalancer {
	#targets;
	#healthy = new Set();
	/** Open connections by the port of their server. */
	#open = new Map();
	#next = 0;
	#server;
	#timer;

	constructor(urls) {
		this.#targets = urls.map(url => Number(new URL(url).port));
		this.#server = createServer({allowHalfOpen: false}, client => this.#serve(client));
	}

	/** Listens; the address for clients. */
	async listen() {
		await this.#check();
		this.#timer = setInterval(() => void this.#check(), CHECK_MS);
		this.#server.listen(0, '127.0.0.1');
		await once(this.#server, 'listening');
		return `http://127.0.0.1:${this.#server.address().port}`;
	}

	/** Whether a connection to that server is open. */
	isUsing(url) {
		return (this.#open.get(Number(new URL(url).port)) ?? 0) > 0;
	}

	close() {
		clearInterval(this.#timer);
		this.#server.close();
	}

	#serve(client) {
		client.on('error', () => client.destroy());
		const ports = [...this.#healthy];
		if (ports.length === 0) return client.destroy();
		const port = ports[this.#next++ % ports.length];
		const upstream = connect(port, '127.0.0.1');
		this.#count(port, 1);
		upstream.on('error', () => client.destroy());
		upstream.on('close', () => {
			this.#count(port, -1);
			client.destroy();
		});
		client.on('close', () => upstream.destroy());
		client.setNoDelay(true);
		upstream.setNoDelay(true);
		client.pipe(upstream);
		upstream.pipe(client);
	}

	#count(port, change) {
		this.#open.set(port, (this.#open.get(port) ?? 0) + change);
	}

	async #check() {
		await Promise.all(
			this.#targets.map(async port => {
				const signal = AbortSignal.timeout(ANSWER_MS);
				const {ok} = await fetch(`http://127.0.0.1:${port}/readyz`, {signal}).catch(() => ({ok: false}));
				if (ok) this.#healthy.add(port);
				else this.#healthy.delete(port);
			}),
		);
	}
}
