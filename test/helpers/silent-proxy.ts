import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {onTestFinished} from 'vitest';

/** A TCP proxy whose connections can fall silent without a word to either end; closed with the test. */
export class SilentProxy {
	readonly url: string;
	/** Connections made so far. */
	connections = 0;
	/** True to swallow whatever new connections send, too. */
	swallowsNew = false;
	#silenced = new WeakSet<Socket>();
	#open = new Set<Socket>();

	static async to(url: string): Promise<SilentProxy> {
		const {hostname, port} = new URL(url);
		let proxy: SilentProxy | undefined;
		const listener = createServer(near => proxy!.#join(near, connect({host: hostname, port: Number(port)})));
		await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve));
		proxy = new SilentProxy((listener.address() as AddressInfo).port);
		onTestFinished(() => {
			listener.close();
			for (const socket of proxy.#open) socket.destroy();
		});
		return proxy;
	}

	private constructor(port: number) {
		this.url = `ws://127.0.0.1:${port}`;
	}

	/** From now on the connections there are take everything and pass nothing on, not even their end. */
	swallow(): void {
		for (const socket of this.#open) this.#silenced.add(socket);
	}

	#join(near: Socket, far: Socket): void {
		this.connections++;
		for (const [from, to] of [
			[near, far],
			[far, near],
		] as const) {
			this.#open.add(from);
			if (this.swallowsNew) this.#silenced.add(from);
			from.on('data', data => {
				if (this.#silenced.has(from)) return;
				if (!to.write(data)) from.pause();
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
