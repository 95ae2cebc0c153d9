import {connect, createServer} from 'node:net';

/** A TCP proxy whose connections can fall silent without a word to either end. */
export class SilentProxy {
	#listener;
	#silenced = new WeakSet();
	#open = new Set();

	static async to(url) {
		const {hostname, port} = new URL(url);
		const proxy = new SilentProxy();
		proxy.#listener = createServer(near => proxy.#join(near, connect({host: hostname, port: Number(port)})));
		await new Promise(resolve => proxy.#listener.listen(0, '127.0.0.1', resolve));
		return proxy;
	}

	get url() {
		return `ws://127.0.0.1:${this.#listener.address().port}`;
	}

	/** From now on the connections there are take everything and pass nothing on, not even their end. */
	swallow() {
		for (const socket of this.#open) this.#silenced.add(socket);
	}

	close() {
		this.#listener.close();
		for (const socket of this.#open) socket.destroy();
	}

	#join(near, far) {
		for (const [from, to] of [
			[near, far],
			[far, near],
		]) {
			this.#open.add(from);
			from.on('data', data => {
				if (!this.#silenced.has(from) && !to.write(data)) from.pause();
			});
			to.on('drain', () => from.resume());
			from.on('error', () => {});
			from.on('close', () => {
				this.#open.delete(from);
				if (!this.#silenced.has(from)) to.destroy();
			});
		}
	}
}
