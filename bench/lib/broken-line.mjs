import {connect, createServer} from 'node:net';
import {delay} from './waiting.mjs';

/** A TCP proxy that passes bytes on, late and in pieces, until it is told to break every connection. */
export class BrokenLine {
	/** Connections that were made. */
	connections = 0;
	#random;
	#listener;
	#open = new Set();

	/** In front of a `ws:` or `http:` address. */
	static async to(address, random) {
		const {hostname, port, protocol} = new URL(address);
		const line = new BrokenLine();
		line.#random = random;
		line.#listener = createServer(near => line.#join(near, connect({host: hostname, port: Number(port)})));
		await new Promise(resolve => line.#listener.listen(0, '127.0.0.1', resolve));
		line.url = `${protocol}//127.0.0.1:${line.#listener.address().port}`;
		return line;
	}

	get isUsed() {
		return [...this.#open].some(socket => !socket.destroyed);
	}

	/** Breaks every connection, both halves of it at once. */
	cut() {
		for (const socket of this.#open) socket.destroy();
		this.#open.clear();
	}

	close() {
		this.cut();
		this.#listener.close();
	}

	#join(near, far) {
		this.connections++;
		for (const [from, to] of [
			[near, far],
			[far, near],
		]) {
			this.#open.add(from);
			from.setNoDelay(true);
			from.on('error', () => to.destroy());
			let passing = Promise.resolve();
			from.on('close', () => {
				this.#open.delete(from);
				// An answer that is late arrives before its end.
				void passing.then(() => to.destroySoon());
			});
			from.on('data', data => {
				passing = this.#passOn(from, to, data);
			});
		}
	}

	async #passOn(from, to, data) {
		const random = this.#random;
		from.pause();
		for (let at = 0; at < data.length && !to.destroyed; ) {
			const size = random.chance(0.2) ? random.size(1, 5000) : data.length;
			if (random.chance(0.02)) await delay(random.size(1, 30));
			const isTaken = to.write(data.subarray(at, at + size));
			at += size;
			if (!isTaken) await new Promise(resolve => to.once('drain', resolve).once('close', resolve));
		}
		from.resume();
	}
}
