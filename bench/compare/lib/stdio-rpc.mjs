import {parseWhole} from './messages.mjs';
import {Rpc} from './rpc.mjs';

const NEWLINE = 0x0a;

/** The protocol on the standard streams of a child, one message per line. */
export class StdioRpc extends Rpc {
	#child;
	#isCorked = false;

	constructor(child) {
		super();
		this.#child = child;
		child.stdout.on('data', buffer => {
			try {
				this.#feed(buffer);
			} catch (error) {
				this.fail(error);
			}
		});
		child.on('exit', (code, signal) => this.fail(new Error(`server exited (${signal ?? code})`)));
		child.stdin.on('error', () => {});
	}

	#feed(buffer) {
		let at = 0;
		while (at < buffer.length) {
			const end = buffer.indexOf(NEWLINE, at);
			if (end < 0) {
				this.assembler.push(buffer, at, buffer.length);
				return;
			}
			if (this.assembler.length > 0) {
				this.assembler.push(buffer, at, end);
				this.deliver(this.assembler.finish());
			} else if (end > at) this.deliver(parseWhole(buffer, at, end));
			at = end + 1;
		}
	}

	sendText(text) {
		const {stdin} = this.#child;
		if (!this.#isCorked) {
			this.#isCorked = true;
			stdin.cork();
			process.nextTick(() => {
				this.#isCorked = false;
				stdin.uncork();
			});
		}
		stdin.write(`${text}\n`);
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
