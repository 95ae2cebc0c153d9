import {RpcError} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import {toPathUri} from '../paths.js';
import {type ExitStatus, type ProcessHandle, ProcessLostError} from '../process/process-handle.js';
import {TooManyCallsError} from '../session/client-errors.js';
import {type ProcessHost, type RunCommandOptions, toStartParams} from './command.js';
import {type Collected, Collector, type CommunicateOptions} from './communicate.js';
import {writeInput} from './write-input.js';

/** A process that has to end is asked first, and has this long. */
const GRACE_MS = 1000;
/** How long its end is waited for then, before it is reported without one. */
const END_MS = 5000;

export interface RunOptions extends RunCommandOptions, CommunicateOptions {
	/** The command is ended after so many milliseconds. */
	readonly timeout?: number | undefined;
	/** The command is ended when it is aborted. */
	readonly signal?: AbortSignal | undefined;
	/** Whether anything but an exit with code 0 is thrown as a `RunError`; on by default. */
	readonly reject?: boolean | undefined;
}

/**
 * Why a command is over: it exited, a signal ended it, it took too long, it was aborted, the link to it broke, or it
 * could not be started.
 */
export type RunReason = 'exit' | 'signal' | 'timeout' | 'aborted' | 'disconnected' | 'spawn';

export interface RunResult {
	readonly argv: readonly string[];
	readonly reason: RunReason;
	/** What the kernel reported, 128 and its number for a signal; undefined when that is not known. */
	readonly exitCode: number | undefined;
	/** On a terminal both streams are one, and this is it. */
	readonly stdout: Collected;
	readonly stderr: Collected;
	readonly durationMs: number;
	/** What broke, where something did. */
	readonly error: Error | undefined;
}

/** A command that did not exit with code 0; `result` has everything that is known of it. */
export class RunError extends Error {
	override readonly name = 'RunError';
	readonly result: RunResult;

	constructor(result: RunResult) {
		super(describe(result), result.error && {cause: result.error});
		this.result = result;
	}
}

/** Runs a command to its end. Besides a `RunError`, throws what is wrong with the options or with the input itself. */
export async function run(machine: ProcessHost, argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
	if (options.cwd !== undefined) toPathUri(options.cwd);
	const result = await attempt(machine, argv, options);
	const isFine = result.reason === 'exit' && result.exitCode === 0;
	if (!isFine && options.reject !== false) throw new RunError(result);
	return result;
}

interface Ending {
	readonly reason: RunReason;
	/** Whether it came from outside, so that the process has yet to end. */
	readonly isCut?: boolean;
	readonly exit?: ExitStatus;
	readonly error?: Error;
}

async function attempt(machine: ProcessHost, argv: readonly string[], options: RunOptions): Promise<RunResult> {
	const startedAt = performance.now();
	const collector = new Collector(options);
	const ending = await end(machine, argv, options, collector);
	return {
		argv,
		reason: ending.reason,
		exitCode: ending.exit?.exitCode,
		stdout: collector.stdout,
		stderr: collector.stderr,
		durationMs: performance.now() - startedAt,
		error: ending.error,
	};
}

async function end(
	machine: ProcessHost,
	argv: readonly string[],
	options: RunOptions,
	collector: Collector,
): Promise<Ending> {
	const cut = new Cut(options);
	try {
		const started = await Promise.race([start(machine, argv, options, cut.signal), cut.made]);
		if (!('process' in started)) return started;
		const {process} = started;
		const over = settle(process, collector, options);
		const first = await Promise.race([over, cut.made]);
		return first.isCut ? await endAfter(process, over, first) : first;
	} finally {
		cut.stop();
	}
}

async function start(
	machine: ProcessHost,
	argv: readonly string[],
	options: RunOptions,
	signal: AbortSignal,
): Promise<{process: ProcessHandle} | Ending> {
	try {
		const params = await toStartParams(machine, argv, {stdin: options.input !== undefined, ...options});
		return await machine.processes.start(params, {signal});
	} catch (thrown) {
		const error = thrown instanceof Error ? thrown : new Error(String(thrown));
		const isRefused = error instanceof RpcError || error instanceof TooManyCallsError;
		return {reason: isRefused ? 'spawn' : 'disconnected', error};
	}
}

/** The end the process comes to by itself. */
async function settle(process: ProcessHandle, collector: Collector, {input}: RunOptions): Promise<Ending> {
	const feeding = input === undefined ? undefined : writeInput(process, input);
	try {
		await Promise.all([collector.collect(process), feeding]);
		const exit = await process.exited;
		return {reason: reasonOf(exit), exit};
	} catch (error) {
		if (error instanceof ProcessLostError || error instanceof DisconnectedError) return {reason: 'disconnected', error};
		// Nobody talks to this process any more.
		await process[Symbol.asyncDispose]();
		throw error;
	}
}

/** Its time is over: whether it is gone is waited for, but not for ever. */
async function endAfter(process: ProcessHandle, over: Promise<Ending>, cut: Ending): Promise<Ending> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const waited = new Promise<Ending>(resolve => {
		timer = setTimeout(() => resolve(cut), GRACE_MS + END_MS);
	});
	process.terminate({graceful: {timeoutMs: GRACE_MS}}).catch(() => {
		// What cannot be told to it any more shows in its end.
	});
	const ended = await Promise.race([over.catch(() => cut), waited]);
	clearTimeout(timer);
	return {...cut, ...(ended.exit && {exit: ended.exit}), ...(ended.error && {error: ended.error})};
}

/** What ends a command from outside: its time limit or its caller. */
class Cut {
	readonly made: Promise<Ending>;
	readonly #starting = new AbortController();
	readonly #stop: () => void;

	constructor({timeout, signal}: RunOptions) {
		let make!: (ending: Ending) => void;
		this.made = new Promise(resolve => {
			make = resolve;
		});
		const abort = (): void => {
			const reason: unknown = signal!.reason;
			make({reason: 'aborted', isCut: true, ...(reason instanceof Error && {error: reason})});
		};
		const late = (): void => make({reason: 'timeout', isCut: true});
		const timer = timeout === undefined ? undefined : setTimeout(late, Math.min(timeout, MAX_TIMER_MS));
		if (signal?.aborted) abort();
		else signal?.addEventListener('abort', abort, {once: true});
		this.#stop = () => {
			clearTimeout(timer);
			signal?.removeEventListener('abort', abort);
		};
	}

	/** Ends a process whose start is over too late. */
	get signal(): AbortSignal {
		return this.#starting.signal;
	}

	stop(): void {
		this.#stop();
		this.#starting.abort();
	}
}

function reasonOf({reason}: ExitStatus): RunReason {
	if (reason === 'timeout') return 'timeout';
	return reason === 'signal' || reason === 'terminated' ? 'signal' : 'exit';
}

function describe({argv, reason, exitCode, error, stderr}: RunResult): string {
	const program = argv[0] ?? '';
	const what = {
		exit: `exited with code ${exitCode}`,
		signal: `was ended by a signal (code ${exitCode})`,
		timeout: 'took too long and was ended',
		aborted: 'was aborted',
		disconnected: `was lost: ${error?.message}`,
		spawn: `could not be started: ${error?.message}`,
	}[reason];
	const lastLine = stderr.text.trimEnd().split('\n').at(-1) ?? '';
	return `${program} ${what}${lastLine === '' ? '' : `: ${lastLine}`}`;
}
