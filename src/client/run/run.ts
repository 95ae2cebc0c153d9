import {RpcError} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {Deferred} from '../../shared/async/deferred.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {withTimeout} from '../../shared/async/timeout.js';
import {type OptionTable, type ReadOptionsOf, readOptions} from '../../shared/call-options.js';
import {LongarmError} from '../../shared/errors.js';
import {type Duration, MAX_TIMER_MS} from '../../shared/units.js';
import {toPathUri} from '../paths.js';
import {type ExitStatus, type ProcessHandle, ProcessLostError} from '../process/process-handle.js';
import {RejectedError, TooManyCallsError} from '../session/client-errors.js';
import {
	COMMAND_OPTIONS,
	type ProcessHost,
	type RunCommandOptions,
	readPolicy,
	requireArguments,
	startOn,
	toStartParams,
} from './command.js';
import {COMMUNICATE_OPTIONS, type Collected, Collector, type CommunicateOptions} from './communicate.js';
import {toSharingParams} from './sharing-options.js';
import {writeInput} from './write-input.js';

/** Grace period between SIGTERM and SIGKILL for an interrupted process. */
const GRACE_MS = 1000;
/** After the grace period its exit is awaited this long, before the result is reported without one. */
const EXIT_TIMEOUT_MS = 5000;

/** Options of `run`. */
export interface RunOptions extends RunCommandOptions, CommunicateOptions {
	/** Ends the command after so many milliseconds, or `'5s'`. */
	readonly timeout?: Duration | undefined;
	/** Ends the command when it is aborted. */
	readonly signal?: AbortSignal | undefined;
	/** Throws a `RunError` for anything but an exit with code 0; on by default. */
	readonly reject?: boolean | undefined;
}

export const RUN_OPTIONS: OptionTable<RunOptions> = {
	...COMMAND_OPTIONS,
	...COMMUNICATE_OPTIONS,
	timeout: 'duration',
	signal: 'signal',
	reject: 'flag',
};

type Settings = ReadOptionsOf<RunOptions>;

/**
 * Cause of a command's end: it exited, a signal ended it, it took too long, it was aborted, the connection to it was
 * lost, or it could not be started. `incomplete` is an exit with output missing, which the server did not keep while the
 * connection was lost.
 */
export type RunReason = 'exit' | 'incomplete' | 'signal' | 'timeout' | 'aborted' | 'disconnected' | 'spawn';

/** Outcome of a command: output, exit and the reason it ended. */
export interface RunResult {
	readonly argv: readonly string[];
	readonly reason: RunReason;
	/** Exit code, or 128 + n after signal n; undefined when it is not known. */
	readonly exitCode: number | undefined;
	/** On a terminal, both streams. */
	readonly stdout: Collected;
	readonly stderr: Collected;
	readonly durationMs: number;
	/** The underlying error, if there was one. */
	readonly error: Error | undefined;
}

/** Thrown for a command that did not exit with code 0; `result` is complete. */
export class RunError extends Error {
	override readonly name = 'RunError';
	readonly result: RunResult;

	constructor(result: RunResult) {
		super(describe(result), result.error && {cause: result.error});
		this.result = result;
	}
}

/** Runs a command to its end. Throws a `RunError`, or the error of invalid options or of the input source. */
export async function run(machine: ProcessHost, argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
	requireArguments(argv);
	const settings = readOptions<RunOptions>(options, RUN_OPTIONS, 'run()');
	if (options.cwd !== undefined) toPathUri(options.cwd);
	if (options.onDisconnect !== undefined) readPolicy(options.onDisconnect);
	toSharingParams(options);
	const result = await attempt(machine, argv, settings);
	const isSuccess = result.reason === 'exit' && result.exitCode === 0;
	if (!isSuccess && options.reject !== false) throw new RunError(result);
	return result;
}

interface Ending {
	readonly reason: RunReason;
	/** True if it came from outside, so that the process has yet to end. */
	readonly isInterrupted?: boolean;
	readonly exit?: ExitStatus;
	readonly error?: Error;
}

async function attempt(machine: ProcessHost, argv: readonly string[], options: Settings): Promise<RunResult> {
	const startedAt = performance.now();
	const collector = new Collector(options);
	const ending = await runToEnd(machine, argv, options, collector);
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

async function runToEnd(
	machine: ProcessHost,
	argv: readonly string[],
	options: Settings,
	collector: Collector,
): Promise<Ending> {
	const interruption = new Interruption(options);
	try {
		const started = await Promise.race([start(machine, argv, options, interruption.startSignal), interruption.ending]);
		if (!('process' in started)) return started;
		const {process} = started;
		const ended = waitForEnd(process, collector, options);
		const first = await Promise.race([ended, interruption.ending]);
		return first.isInterrupted ? await terminate(process, ended, first) : first;
	} finally {
		interruption.dispose();
	}
}

async function start(
	machine: ProcessHost,
	argv: readonly string[],
	options: Settings,
	signal: AbortSignal,
): Promise<{process: ProcessHandle} | Ending> {
	try {
		const params = await toStartParams(machine, argv, {
			...options,
			stdin: options.stdin ?? options.input !== undefined,
		});
		return await startOn(machine, params, {signal, backpressure: true});
	} catch (thrown) {
		const error = thrown instanceof Error ? thrown : new Error(String(thrown));
		const isRefused = error instanceof RpcError || error instanceof TooManyCallsError || isUnsupported(error);
		return {reason: isRefused ? 'spawn' : 'disconnected', error};
	}
}

/** The executor was not even asked: it lacks what the options need. */
function isUnsupported(error: Error): boolean {
	return error instanceof LongarmError && error.code === 'NOT_SUPPORTED';
}

/** Writes the input and collects the output until the process ends by itself. */
async function waitForEnd(process: ProcessHandle, collector: Collector, {input}: Settings): Promise<Ending> {
	const writing = input === undefined ? undefined : writeInput(process, input);
	try {
		await Promise.all([collector.collect(process), writing]);
		const exit = await process.exited;
		const reason = reasonOf(exit);
		return {reason: reason === 'exit' && collector.hasGap ? 'incomplete' : reason, exit};
	} catch (error) {
		if (error instanceof ProcessLostError || error instanceof DisconnectedError) return {reason: 'disconnected', error};
		// The input or the output handler failed: the process is of no use any more.
		await process[Symbol.asyncDispose]();
		throw error;
	}
}

/** Terminates an interrupted process and waits for its exit, within bounds. */
async function terminate(process: ProcessHandle, ended: Promise<Ending>, interrupted: Ending): Promise<Ending> {
	process.terminate({graceful: {timeoutMs: GRACE_MS}}).catch(() => {
		// A lost connection shows in the ending as well.
	});
	const {exit, error} = await withTimeout(
		ended.catch(() => interrupted),
		GRACE_MS + EXIT_TIMEOUT_MS,
		() => interrupted,
	);
	return {...interrupted, ...(exit && {exit}), ...(error && {error})};
}

/** Interruption of a command from outside: by its timeout or by the caller's signal. */
class Interruption {
	readonly #ending = new Deferred<Ending>();
	readonly #start = new AbortController();
	readonly #stopListening: () => void;
	readonly #timer: ReturnType<typeof setTimeout> | undefined;

	constructor({timeout, signal}: Settings) {
		this.#stopListening = onAbort(signal, reason => {
			this.#ending.resolve({reason: 'aborted', isInterrupted: true, ...(reason instanceof Error && {error: reason})});
		});
		if (timeout === undefined) return;
		const expire = (): void => this.#ending.resolve({reason: 'timeout', isInterrupted: true});
		this.#timer = setTimeout(expire, Math.min(timeout, MAX_TIMER_MS));
	}

	/** Stays pending without an interruption. */
	get ending(): Promise<Ending> {
		return this.#ending.promise;
	}

	/** Ends a process whose start completes after the interruption. */
	get startSignal(): AbortSignal {
		return this.#start.signal;
	}

	dispose(): void {
		clearTimeout(this.#timer);
		this.#stopListening();
		this.#start.abort();
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
		incomplete: `exited with code ${exitCode}, but output is missing`,
		signal: `was ended by a signal (code ${exitCode})`,
		timeout: 'took too long and was ended',
		aborted: 'was aborted',
		disconnected: `was lost: ${error?.message}`,
		spawn: `could not be started: ${describeRefusal(error)}`,
	}[reason];
	const lastLine = stderr.text.trimEnd().split('\n').at(-1) ?? '';
	return `${program} ${what}${lastLine === '' ? '' : `: ${lastLine}`}`;
}

/** The operating system has the same words for a missing directory and a missing program. */
export function describeRefusal(error: Error | undefined): string {
	if (!(error instanceof RejectedError)) return `${error?.message}`;
	const {errorCode, context, reason, message} = error;
	if (errorCode === 'CWD_UNUSABLE') return `the working directory ${String(context['cwd'])} cannot be used: ${reason}`;
	return errorCode === 'PROGRAM_NOT_FOUND' ? `there is no such program: ${reason}` : message;
}
