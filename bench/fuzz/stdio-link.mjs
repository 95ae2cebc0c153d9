import {isUtf8} from 'node:buffer';
import {spawn} from 'node:child_process';
import {LineReader} from '../lib/streams.mjs';
import {classify} from './classify.mjs';
import {HANG_UP_MS} from './limits.mjs';
import {Link} from './link.mjs';
import {command, settings} from './workspace.mjs';

/** White space of ASCII only: a line with a byte order mark, which `trim` takes off, too, is a malformed message. */
const BLANK_LINE = /^[\t\v\f\r ]*$/;

/** A server of its own, on its standard input and output. */
export class StdioLink extends Link {
	#child;
	stderr = '';

	static async open() {
		const link = new StdioLink();
		await link.#start();
		return link;
	}

	async #start() {
		const child = spawn(process.execPath, [command, 'serve', '--listen', 'stdio', ...settings()], {
			stdio: ['pipe', 'pipe', 'pipe'],
		});
		this.#child = child;
		child.stdin.on('error', () => {});
		child.stdout.on('error', () => {});
		const reader = new LineReader((...piece) => this.receive(...piece));
		child.stdout.on('data', data => reader.feed(data));
		child.stderr.on('data', data => {
			this.stderr += data;
		});
		child.once('close', (code, signal) => {
			const clean = code === 0 && this.stderr === '';
			this.onClose(clean ? undefined : `the server ended with ${code ?? signal} and said: ${this.stderr}`);
		});
		await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
	}

	get pid() {
		return this.#child.pid;
	}

	classify(payload) {
		const bytes = Buffer.from(payload);
		if (!isUtf8(bytes)) return [{kind: 'fatal'}];
		return bytes
			.toString()
			.split('\n')
			.map(line => (BLANK_LINE.test(line) ? {kind: 'silent'} : classify(line)));
	}

	pack({payload}, random) {
		const end = random.chance(0.05) ? random.pick(['\r\n', '\n\n', '\n \t\r\n']) : '\n';
		return Buffer.concat([Buffer.from(payload), Buffer.from(end)]);
	}

	unfinished() {
		return Buffer.from('{"id":1,"method":"environment/st');
	}

	write(bytes) {
		if (this.#child.stdin.writable) this.#child.stdin.write(bytes);
	}

	pause() {
		this.#child.stdout.pause();
	}

	resume() {
		this.#child.stdout.resume();
	}

	halfClose() {
		this.#child.stdin.end();
	}

	close() {
		this.#child.stdin.end();
	}

	/** Stops reading, too. */
	destroy() {
		this.#child.stdin.destroy();
		this.#child.stdout.destroy();
		setTimeout(() => this.#child.kill('SIGKILL'), HANG_UP_MS).unref();
	}
}
