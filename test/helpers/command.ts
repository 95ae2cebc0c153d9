import {type ChildProcessByStdio, spawn} from 'node:child_process';
import {existsSync} from 'node:fs';
import type {Readable, Writable} from 'node:stream';
import {fileURLToPath} from 'node:url';
import {onTestFinished} from 'vitest';

/** The built command. */
export const PROGRAM = fileURLToPath(new URL('../../dist/bin/longarm.js', import.meta.url));

export interface Ended {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
}

export interface Finished extends Ended {
	readonly stdout: string;
	readonly stderr: string;
}

export interface CommandOptions {
	readonly env?: Record<string, string>;
	/** Leaves standard output to the test. */
	readonly ownStdout?: boolean;
	/** Command line in front of it, one that becomes the program in the end. */
	readonly via?: readonly string[];
	/** Without a controlling terminal. */
	readonly ownSession?: boolean;
	/** Another program than the built command, and another runtime for it. */
	readonly program?: string;
	readonly runtime?: string;
}

/** The built command as a program of its own. */
export class Command {
	readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
	/** Settles when the program has ended and both its streams have. */
	readonly ended: Promise<Ended>;
	/** Output so far; `stdout` stays empty with `ownStdout`. */
	stdout = '';
	stderr = '';
	#isEnded = false;
	#watchers = new Set<() => void>();

	/** The program inherits PATH and HOME only, and knows no environments of the user. */
	constructor(
		args: readonly string[],
		{
			env = {},
			ownStdout = false,
			via = [],
			ownSession = false,
			program: own = PROGRAM,
			runtime = process.execPath,
		}: CommandOptions = {},
	) {
		if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: npm run build`);
		const [program, ...rest] = [...via, runtime, own, ...args];
		this.child = spawn(program!, rest, {
			env: {PATH: process.env['PATH'], HOME: process.env['HOME'], LONGARM_HOME: '/nonexistent', ...env},
			stdio: ['pipe', 'pipe', 'pipe'],
			detached: ownSession,
		});
		const {child} = this;
		child.stdin.on('error', () => {});
		if (!ownStdout) child.stdout.setEncoding('utf8').on('data', (text: string) => this.#take('stdout', text));
		child.stderr.setEncoding('utf8').on('data', (text: string) => this.#take('stderr', text));
		this.ended = new Promise(resolve => {
			child.once(ownStdout ? 'exit' : 'close', (code, signal) => {
				this.#isEnded = true;
				this.#wake();
				resolve({code: code as number | null, signal: signal as NodeJS.Signals | null});
			});
		});
		onTestFinished(() => void child.kill('SIGKILL'));
	}

	get pid(): number {
		return this.child.pid!;
	}

	/** The address it prints once it serves. */
	async url(): Promise<string> {
		await this.until(() => this.stdout.includes('\n'), 'the address');
		return this.stdout.trim();
	}

	async logs(message: string): Promise<void> {
		await this.until(() => this.stderr.includes(message), `"${message}" in the log`);
	}

	until(probe: () => boolean, what: string): Promise<void> {
		return new Promise((resolve, reject) => {
			const check = (): void => {
				if (!probe() && !this.#isEnded) return;
				this.#watchers.delete(check);
				if (probe()) resolve();
				else reject(new Error(`the program ended before ${what}: ${this.stderr}`));
			};
			this.#watchers.add(check);
			check();
		});
	}

	#take(stream: 'stdout' | 'stderr', text: string): void {
		this[stream] += text;
		this.#wake();
	}

	#wake(): void {
		for (const check of this.#watchers) check();
	}
}

/** Runs the command to its end, without input. */
export async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Finished> {
	const command = new Command(args, {env});
	command.child.stdin.end();
	const {code, signal} = await command.ended;
	return {code, signal, stdout: command.stdout, stderr: command.stderr};
}
