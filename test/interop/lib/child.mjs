import {spawn} from 'node:child_process';
import fs from 'node:fs';

const STOP_GRACE_MS = 5000;
const CHECK_EVERY_MS = 25;
const DEFAULT_UNTIL_MS = 60_000;

/** Leaders of the programs that run. */
const running = new Set();
process.once('exit', () => {
	for (const pid of running) signalGroup(pid, 'SIGTERM');
});

/** A program that runs as the leader of a process group of its own: stopping it reaches only what it started itself. */
export class Child {
	stdout = '';
	stderr = '';
	/** Settles with the exit code, the name of the signal, or why it could not be started. */
	exited;
	#process;

	constructor(command, args, options) {
		this.#process = spawn(command, args, {...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true});
		this.#process.stdout.setEncoding('utf8').on('data', text => {
			this.stdout += text;
		});
		this.#process.stderr.setEncoding('utf8').on('data', text => {
			this.stderr += text;
		});
		const {pid} = this.#process;
		if (pid !== undefined) running.add(pid);
		this.#process.once('exit', () => running.delete(pid));
		this.exited = new Promise(resolve => {
			this.#process.on('exit', (code, signal) => resolve(signal ?? code));
			this.#process.on('error', ({message}) => resolve(`not started: ${message}`));
		});
	}

	signal(name) {
		this.#process.kill(name);
	}

	async stop() {
		const {pid} = this.#process;
		if (pid === undefined) return;
		signalGroup(pid, 'SIGTERM');
		const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), STOP_GRACE_MS);
		await this.exited;
		clearTimeout(timer);
		signalGroup(pid, 'SIGKILL');
	}
}

/** Waits until a check gives something; the limit only keeps a failure from waiting for ever. */
export async function until(description, check, limitMs = DEFAULT_UNTIL_MS) {
	const end = Date.now() + limitMs;
	for (;;) {
		const value = await check();
		if (value) return value;
		if (Date.now() > end) throw new Error(`timed out waiting for ${description}`);
		await new Promise(resolve => {
			setTimeout(resolve, CHECK_EVERY_MS);
		});
	}
}

/** Whether a process runs; one that has ended and was not reaped yet does not. */
export function isAlive(pid) {
	try {
		process.kill(pid, 0);
		return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
	} catch (error) {
		return error.code === 'EPERM';
	}
}

function signalGroup(leader, name) {
	try {
		process.kill(-leader, name);
	} catch {
		// The whole group is gone.
	}
}
