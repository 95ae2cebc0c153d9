import {latencies, lower} from './values.mjs';
import {cost, costed, uniqueId} from './work.mjs';

/** "k\n" */
const KEYSTROKE_BASE64 = 'awo=';
const WARM_UP_ECHOES = 50;

/** `process/write` to a `cat` until the echo is back. */
export async function echoLatency(server, sizes) {
	const client = await server.connect();
	const values = {};
	for (const tty of [false, true]) {
		const name = tty ? 'pty' : 'pipe';
		try {
			const echo = new Echo(client, tty);
			await echo.ready();
			await repeat(echo, WARM_UP_ECHOES, sizes.boxMs / 5);
			const {result: times, serverCpu} = await costed(server, () => repeat(echo, sizes.echoN, sizes.boxMs));
			await echo.stop();
			values[`${name}_cpu`] = cost(serverCpu, times.length, 'us/echo');
			Object.assign(
				values,
				latencies(
					name,
					times.map(({all}) => all),
				),
			);
			const firsts = times.map(({first}) => first);
			if (tty) Object.assign(values, latencies('pty_key', firsts));
		} catch (error) {
			values[`${name}_p50`] = lower(Number.NaN, 'us', error.message);
		}
	}
	server.release(client);
	return values;
}

async function repeat(echo, count, boxMs) {
	const times = [];
	const end = performance.now() + boxMs;
	while (times.length < count && performance.now() < end) times.push(await echo.once());
	return times;
}

/** An interactive `cat`. */
export class Echo {
	#client;
	#isTerminal;
	#process;
	#firstAt = 0;
	#bytesLeft = 0;
	#resolve = null;

	constructor(client, isTerminal) {
		this.#client = client;
		this.#isTerminal = isTerminal;
		this.#process = client.start(uniqueId('cat'), ['cat'], {
			tty: isTerminal,
			pipeStdin: !isTerminal,
			onOutput: bytes => this.#take(bytes),
		});
	}

	async ready() {
		await this.#process.started;
		for (let count = 0; count < 5; count++) await this.once();
	}

	/** Milliseconds until the first and until the last byte of the echo. */
	async once() {
		this.#firstAt = 0;
		// A terminal echoes "k\r\n", and cat then prints it once more.
		this.#bytesLeft = this.#isTerminal ? 6 : 2;
		const echoed = new Promise(resolve => {
			this.#resolve = resolve;
		});
		const began = performance.now();
		const written = this.#client.write(this.#process.id, KEYSTROKE_BASE64);
		const ended = await echoed;
		await written;
		return {first: this.#firstAt - began, all: ended - began};
	}

	async stop() {
		await this.#client.terminate(this.#process.id);
		await this.#process.done;
	}

	#take(bytes) {
		if (this.#firstAt === 0) this.#firstAt = performance.now();
		this.#bytesLeft -= bytes;
		if (this.#bytesLeft > 0 || !this.#resolve) return;
		const resolve = this.#resolve;
		this.#resolve = null;
		resolve(performance.now());
	}
}
