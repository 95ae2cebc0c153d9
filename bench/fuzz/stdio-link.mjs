import {isUtf8} from 'node:buffer';
import {spawn} from 'node:child_process';
import {HANG_UP_MS} from './bounds.mjs';
import {judge} from './judge.mjs';
import {command, SETTINGS} from './workspace.mjs';

/** A server of its own, on its standard input and output. */
export class StdioLink {
	#child;
	#pending = [];
	stderr = '';
	onMessage = () => {};
	onClose = () => {};

	static async open() {
		const link = new StdioLink();
		await link.#start();
		return link;
	}

	async #start() {
		const child = spawn(process.execPath, [command, 'serve', '--listen', 'stdio', ...SETTINGS], {
			stdio: ['pipe', 'pipe', 'pipe'],
		});
		this.#child = child;
		child.stdin.on('error', () => {});
		child.stdout.on('error', () => {});
		child.stdout.on('data', data => this.#read(data));
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

	judge(payload) {
		const bytes = Buffer.from(payload);
		if (!isUtf8(bytes)) return [{kind: 'fatal'}];
		return bytes
			.toString()
			.split('\n')
			.map(line => (line.trim() === '' ? {kind: 'silent'} : judge(line)));
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

	/** Nobody reads any more, either. */
	destroy() {
		this.#child.stdin.destroy();
		this.#child.stdout.destroy();
		setTimeout(() => this.#child.kill('SIGKILL'), HANG_UP_MS).unref();
	}

	#read(data) {
		let start = 0;
		for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, start)) {
			const line = data.subarray(start, end);
			start = end + 1;
			this.onMessage(this.#pending.length > 0 ? Buffer.concat([...this.#pending.splice(0), line]) : line);
		}
		if (start < data.length) this.#pending.push(data.subarray(start));
	}
}
