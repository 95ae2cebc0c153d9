import {RepeatedContent} from './content.mjs';
import {until} from './waiting.mjs';

const CONTENT = new RepeatedContent(Buffer.from(Array.from({length: 65_521}, (_, index) => (index * 7919) % 251)));

/** Processes that echo known bytes over a line that breaks: each byte comes back once, or the gap is announced. */
export class EchoTrial {
	totals = {written: 0, read: 0, missed: 0, gaps: 0, wrong: 0, failed: 0};
	#client;
	#isOver = false;

	constructor(client) {
		this.#client = client;
	}

	/** Bytes of which nothing is known. */
	get unaccounted() {
		const {written, read, missed} = this.totals;
		return written - read - missed;
	}

	/** Processes stop writing and end. */
	end() {
		this.#isOver = true;
	}

	/** Writes and reads back until `end`. */
	async echo(processId, chance) {
		const client = this.#client;
		const remote = await this.#start(processId);
		const progress = {offset: 0};
		const reading = this.#readBack(remote, progress);
		let written = 0;
		while (!this.#isOver) {
			const size = chance.size(1, 60_000);
			const {status} = await remote.write(CONTENT.slice(written, size));
			if (status !== 'accepted') throw new Error(`${processId}: a write was ${status}`);
			written += size;
			this.totals.written += size;
		}
		if (client.capabilities.processCloseStdin) {
			await again(() => remote.closeStdin());
		} else {
			// Stock servers cannot tell the end of input: what has come back is all there is.
			await until(() => progress.offset === written || remote.isOver);
			await again(() => remote.terminate());
		}
		await reading;
	}

	async #readBack(remote, progress) {
		const {totals} = this;
		for await (const event of remote.events()) {
			if (event.kind === 'output') {
				if (!CONTENT.matches(event.bytes, progress.offset)) totals.wrong++;
				progress.offset += event.bytes.length;
				totals.read += event.bytes.length;
			} else if (event.kind === 'gap') {
				totals.gaps++;
				totals.missed += event.missedBytes ?? 0;
				progress.offset += event.missedBytes ?? 0;
			} else if (event.kind === 'failed') {
				console.error(event.message);
				totals.failed++;
			} else if (event.kind === 'lagged') {
				throw new Error('the reader was too slow');
			}
		}
	}

	/** A start that was cut off is made again, under another name: nobody knows what became of the first. */
	async #start(processId) {
		for (let attempt = 0; ; attempt++) {
			try {
				const params = {
					processId: `${processId}.${attempt}`,
					argv: ['cat'],
					cwd: 'file:///',
					env: {PATH: process.env.PATH},
				};
				return (await this.#client.start({...params, tty: false, pipeStdin: true})).process;
			} catch (error) {
				if (error.name !== 'DisconnectedError') throw error;
			}
		}
	}
}

async function again(call) {
	for (;;) {
		try {
			return await call();
		} catch (error) {
			if (error.name !== 'DisconnectedError') throw error;
		}
	}
}
