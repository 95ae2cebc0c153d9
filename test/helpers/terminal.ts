import {onTestFinished} from 'vitest';
import type {ProcessHandle} from '../../src/client/process/process-handle.js';
import {Environment} from '../../src/environments/environment.js';
import {PROGRAM} from './command.js';

/** The built command on a real terminal. */
export class TerminalCommand {
	/** Output on the terminal so far. */
	output = '';
	/** Settles with the exit code when everything was read. */
	readonly ended: Promise<number | null>;
	readonly #process: ProcessHandle;
	#isOver = false;
	#wake: () => void = () => {};

	static async start(
		args: readonly string[],
		size = {rows: 24, cols: 80},
		env: Record<string, string> = {},
	): Promise<TerminalCommand> {
		const environment = Environment.local();
		onTestFinished(() => environment.close());
		const argv = [process.execPath, PROGRAM, ...args];
		return new TerminalCommand(
			await environment.start(argv, {tty: size, stdin: true, env: {LONGARM_HOME: '/nonexistent', ...env}}),
		);
	}

	private constructor(started: ProcessHandle) {
		this.#process = started;
		this.ended = this.#follow();
	}

	async type(text: string): Promise<void> {
		await this.#process.write(text);
	}

	/** Settles when the output fits; rejects when the command ends before. */
	async until(pattern: RegExp): Promise<void> {
		while (!pattern.test(this.output)) {
			if (this.#isOver) throw new Error(`the command ended before ${pattern}: ${this.output}`);
			await new Promise<void>(resolve => {
				this.#wake = resolve;
			});
		}
	}

	async #follow(): Promise<number | null> {
		const decoder = new TextDecoder();
		for await (const each of this.#process.output()) {
			if (each.kind === 'output') this.output += decoder.decode(each.bytes, {stream: true});
			this.#wake();
		}
		this.#isOver = true;
		this.#wake();
		return (await this.#process.exited).exitCode;
	}
}

/** Runs the built command on a real terminal to its end. */
export async function onTerminal(
	args: readonly string[],
	env?: Record<string, string>,
): Promise<{output: string; code: number | null}> {
	const command = await TerminalCommand.start(args, undefined, env);
	const code = await command.ended;
	return {output: command.output, code};
}
