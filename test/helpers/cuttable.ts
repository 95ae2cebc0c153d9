import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {onTestFinished} from 'vitest';

/** A line to a server that can be cut; closed with the test. */
export class Cuttable {
	readonly url: string;
	readonly #open = new Set<Socket>();
	/** False to refuse new connections. */
	isOpen = true;
	/** True to lose everything that is sent, in both directions. */
	isSilent = false;
	/** Bytes from the server that were passed on so far. */
	passed = 0;
	#watchers = new Set<() => void>();

	static async to(url: string): Promise<Cuttable> {
		const {hostname, port} = new URL(url);
		let line: Cuttable | undefined;
		const listener = createServer(near => line!.#join(near, connect({host: hostname, port: Number(port)})));
		await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve));
		line = new Cuttable((listener.address() as AddressInfo).port);
		onTestFinished(() => {
			line.isOpen = false;
			line.cut();
			listener.close();
		});
		return line;
	}

	private constructor(port: number) {
		this.url = `ws://127.0.0.1:${port}`;
	}

	/** Breaks every connection. */
	cut(): void {
		for (const socket of this.#open) socket.destroy();
		this.#open.clear();
	}

	/** Settles when this much has come from the server. */
	async until(bytes: number): Promise<void> {
		while (this.passed < bytes) {
			await new Promise<void>(resolve => {
				const tell = (): void => {
					this.#watchers.delete(tell);
					resolve();
				};
				this.#watchers.add(tell);
			});
		}
	}

	#join(near: Socket, far: Socket): void {
		for (const [from, to] of [
			[near, far],
			[far, near],
		] as const) {
			this.#open.add(from);
			from.on('error', () => to.destroy());
			from.on('close', () => to.destroy());
			from.on('data', (data: Buffer) => {
				if (!this.isSilent && !to.write(data)) from.pause();
			});
			to.on('drain', () => from.resume());
		}
		far.on('data', (data: Buffer) => {
			if (this.isSilent) return;
			this.passed += data.length;
			for (const tell of this.#watchers) tell();
		});
		if (!this.isOpen) this.cut();
	}
}
