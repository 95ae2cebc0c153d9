import {join} from 'node:path';
import {Command, type Finished, run} from './command.js';
import {OnTerminal} from './on-terminal.js';
import {scratchDirectory} from './scratch.js';

/** The built server with a state directory of its own, and commands that are given to it; ended with the test. */
export class ProcessServer {
	readonly server: Command;
	readonly url: string;
	readonly state: string;
	readonly #env: Record<string, string>;

	/** Commands get these variables. The state may be that of a server that has ended. */
	static async start(
		flags: readonly string[] = [],
		env: Record<string, string> = {},
		state = join(scratchDirectory(), 'state'),
	): Promise<ProcessServer> {
		const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0', '--state', state, ...flags]);
		return new ProcessServer(server, await server.url(), state, env);
	}

	private constructor(server: Command, url: string, state: string, env: Record<string, string>) {
		this.server = server;
		this.url = url;
		this.state = state;
		this.#env = env;
	}

	/** Clients that were let in so far. */
	get clients(): number {
		return this.server.stderr.split('"let in"').length - 1;
	}

	/** Runs a command to its end. */
	longarm(command: string, ...args: string[]): Promise<Finished> {
		return run([command, '-e', this.url, ...args], this.#env);
	}

	/** A command that goes on. */
	command(command: string, ...args: string[]): Command {
		return new Command([command, '-e', this.url, ...args], {env: this.#env});
	}

	onTerminal(command: string, ...args: string[]): Promise<OnTerminal> {
		return OnTerminal.longarm(command, '-e', this.url, ...args);
	}

	/** Starts a process that stays; its id. */
	async detached(...args: string[]): Promise<string> {
		const {code, stdout, stderr} = await this.longarm('run', '-d', ...args);
		if (code !== 0) throw new Error(stderr);
		return stdout.trim();
	}

	/** The list of all processes. */
	async list(...args: string[]): Promise<Record<string, unknown>[]> {
		const {stdout} = await this.longarm('ps', '-a', '--json', ...args);
		return JSON.parse(stdout) as Record<string, unknown>[];
	}
}
