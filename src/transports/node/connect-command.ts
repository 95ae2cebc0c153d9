import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import type {Socket} from 'node:net';
import {type OptionTable, readOptions} from '../../shared/call-options.js';
import {PROTECTED_VARIABLES} from '../../shared/protected-variables.js';
import {StderrTail} from '../../shared/stderr-tail.js';
import type {TransportEvents} from '../transport.js';
import {WrappedTransport} from '../wrapped-transport.js';
import {isStillThere, listTreeMembers, signalTreeMembers} from './command-tree.js';
import {StdioTransport} from './stdio.js';

/** How long the command may take to end when it is asked to. */
export const COMMAND_GRACE_MS = 2000;
/** Between two looks whether everything has ended. */
const END_CHECK_MS = 20;
/** Tail of stderr kept for the error message, in characters. */
const MAX_STDERR_CHARS = 2000;

/** Time limit for the rest of stderr after the end of stdout. */
const STDERR_DRAIN_MS = 1000;

/** Options of `connectCommand`. */
export interface ConnectCommandOptions {
	readonly args?: readonly string[];
	/** Added to the client's own environment. */
	readonly env?: Readonly<Record<string, string>>;
	readonly cwd?: string;
	/** Gets what the command writes to its standard error. */
	readonly onStderr?: (text: string) => void;
}

const CONNECT_COMMAND_OPTIONS: OptionTable<ConnectCommandOptions> = {
	args: 'list',
	env: 'object',
	cwd: 'text',
	onStderr: 'function',
};

/**
 * Starts a command that speaks the protocol on its standard input and output, such as a server behind ssh. It ends with
 * the transport, from whichever side, and with it its process group and everything below it.
 */
export async function connectCommand(program: string, options: ConnectCommandOptions = {}): Promise<CommandTransport> {
	readOptions<ConnectCommandOptions>(options, CONNECT_COMMAND_OPTIONS, 'connectCommand()');
	const {args = [], env, cwd} = options;
	const child = spawn(program, args, {
		stdio: ['pipe', 'pipe', 'pipe'],
		detached: true,
		env: {...inheritVariables(), ...env},
		...(cwd !== undefined && {cwd}),
	});
	try {
		// Rejects with an `error` event, too.
		await once(child, 'spawn');
	} catch (cause) {
		throw new Error(`failed to spawn exec-server: ${(cause as Error).message}`, {cause});
	}
	return new CommandTransport(child, options.onStderr ?? (() => {}));
}

/** Commands that do not keep this program alive, and so would not be closed when it ends. */
const endAtExit = new Set<() => void>();

/** The connection to a command, and its life. */
export class CommandTransport extends WrappedTransport {
	readonly #child: ChildProcess;
	readonly #stderr = new StderrTail(MAX_STDERR_CHARS);
	readonly #endAtExit = (): void => this.#end();
	#isEnding = false;
	#isDestroyed = false;

	constructor(child: ChildProcess, onStderr: (text: string) => void) {
		super(new StdioTransport(child.stdout!, child.stdin!));
		this.#child = child;
		child.stderr!.setEncoding('utf8').on('data', (text: string) => {
			this.#stderr.push(text);
			onStderr(text);
		});
		// Its children end with it.
		child.once('exit', () => signalGroup(child, 'SIGKILL'));
	}

	get pid(): number {
		return this.#child.pid!;
	}

	override open(events: TransportEvents): void {
		super.open({
			...events,
			closed: error => {
				this.#end();
				// A command that ended may be met by a write first.
				const hasBroken = error && (error as NodeJS.ErrnoException).code !== 'EPIPE';
				if (hasBroken || this.#isDestroyed) events.closed(error);
				else this.#afterStderrDrained(reason => events.closed(reason ?? error));
			},
		});
	}

	override destroy(): void {
		this.#isDestroyed = true;
		super.destroy();
		this.#end();
	}

	/** A program that ends meanwhile asks the command to end, as `close` does. */
	override unref(): void {
		const {stdin, stdout, stderr} = this.#child;
		this.#child.unref();
		for (const pipe of [stdin, stdout, stderr] as Socket[]) pipe.unref();
		if (endAtExit.size === 0) process.once('exit', endCommands);
		endAtExit.add(this.#endAtExit);
	}

	/** The reason of an exit is often on stderr only, which is another pipe and may be a moment behind. */
	#afterStderrDrained(tell: (reason: Error | undefined) => void): void {
		const child = this.#child;
		const told = (): void => {
			clearTimeout(timer);
			child.off('close', told);
			const said = this.#stderr.text.trim();
			if (said !== '') tell(new Error(`the command said: ${said}`));
			else tell(child.exitCode ? new Error(`the command ended with code ${child.exitCode}`) : undefined);
		};
		const isOver = child.stderr!.closed && hasExited(child);
		const timer = setTimeout(told, isOver ? 0 : STDERR_DRAIN_MS);
		child.once('close', told);
	}

	/** Ends the command and everything below it: SIGTERM, and SIGKILL after the grace period. */
	#end(): void {
		if (this.#isEnding) return;
		this.#isEnding = true;
		endAtExit.delete(this.#endAtExit);
		if (endAtExit.size === 0) process.off('exit', endCommands);
		const child = this.#child;
		child.stdin!.destroy();
		if (hasExited(child)) return;
		// Before the first signal: whose parent has ended is no longer found below it.
		const members = listTreeMembers(child.pid!);
		signalGroup(child, 'SIGTERM');
		signalTreeMembers(members, 'SIGTERM');
		const deadline = performance.now() + COMMAND_GRACE_MS;
		const timer = setInterval(() => {
			const isOver = performance.now() >= deadline;
			if (isOver) {
				signalGroup(child, 'SIGKILL');
				signalTreeMembers(members, 'SIGKILL');
			}
			if (isOver || (hasExited(child) && !members.some(isStillThere))) clearInterval(timer);
		}, END_CHECK_MS);
	}
}

function endCommands(): void {
	for (const end of Array.from(endAtExit)) end();
}

function hasExited({exitCode, signalCode}: ChildProcess): boolean {
	return exitCode !== null || signalCode !== null;
}

function inheritVariables(): Record<string, string | undefined> {
	return Object.fromEntries(
		Object.entries(process.env).filter(([name]) => !PROTECTED_VARIABLES.has(name.toUpperCase())),
	);
}

function signalGroup({pid}: ChildProcess, signal: NodeJS.Signals): void {
	try {
		process.kill(-pid!, signal);
	} catch {
		// The group is empty.
	}
}
