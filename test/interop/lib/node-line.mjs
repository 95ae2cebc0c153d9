import {connect, createServer} from 'node:net';

/** A TCP proxy in front of a node of a hub, as a balancer is: new connections can be led to another node. */
export class NodeLine {
	/** WebSockets that were asked for: requests of the registry are no GET. */
	sockets = 0;
	#target;
	#listener = createServer(near => this.#join(near));
	#open = new Set();

	constructor(url) {
		this.lead(url);
	}

	async start() {
		await new Promise(resolve => {
			this.#listener.listen(0, '127.0.0.1', resolve);
		});
		this.url = `http://127.0.0.1:${this.#listener.address().port}`;
		return this;
	}

	/** Where new connections go to. */
	lead(url) {
		this.#target = Number(new URL(url).port);
	}

	/** Breaks every connection. */
	cut() {
		for (const socket of this.#open) socket.destroy();
	}

	stop() {
		this.cut();
		this.#listener.close();
	}

	#join(near) {
		const far = connect(this.#target, '127.0.0.1');
		near.once('data', data => {
			if (/^GET [^]*\r\nupgrade: *websocket\r\n/i.test(data.toString('latin1'))) this.sockets++;
		});
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
