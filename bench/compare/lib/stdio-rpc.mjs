import {gatheredWriter, LineReader} from '../../lib/streams.mjs';
import {Rpc} from './rpc.mjs';

/** The protocol on the standard streams of a child, one message per line. */
export class StdioRpc extends Rpc {
	#child;
	#write;

	constructor(child) {
		super();
		this.#child = child;
		this.#write = gatheredWriter(child.stdin);
		const reader = new LineReader((buffer, start, end, isLast) => this.receive(buffer, start, end, isLast));
		child.stdout.on('data', buffer => {
			try {
				reader.feed(buffer);
			} catch (error) {
				this.fail(error);
			}
		});
		child.on('exit', (code, signal) => this.fail(new Error(`server exited (${signal ?? code})`)));
		child.stdin.on('error', () => {});
	}

	sendText(text) {
		this.#write(`${text}\n`);
	}

	pause() {
		this.#child.stdout.pause();
	}

	resume() {
		this.#child.stdout.resume();
	}

	close() {
		this.onClosed = null;
		this.fail(new Error('closed by bench'));
		this.#child.stdin.end();
	}
}
