import {RpcError} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {type OptionTable, type ReadOptionsOf, readOptions} from '../../shared/call-options.js';
import {LongarmError} from '../../shared/errors.js';
import {toPathUri} from '../paths.js';
import {type ExitStatus, type ProcessHandle, ProcessLostError} from '../process/process-handle.js';
import {TooManyCallsError} from '../session/client-errors.js';
import {Collector} from './collector.js';
import {
	COMMAND_OPTIONS,
	type ProcessHost,
	type RunCommandOptions,
	readPolicy,
	requireArguments,
	startOn,
	toStartParams,
} from './command.js';
import {COMMUNICATE_OPTIONS, type CommunicateOptions} from './communicate.js';
import {endInterrupted, type Interrupted, RunLimits} from './run-limits.js';
import {RunError, type RunReason, type RunResult} from './run-result.js';
import {toSharingParams} from './sharing-options.js';
import {writeInput} from './write-input.js';

/** Options of `run`. */
export interface RunOptions extends RunCommandOptions, CommunicateOptions {
	/** Throws a `RunError` for anything but an exit with code 0; on by default. */
	readonly reject?: boolean | undefined;
}

export const RUN_OPTIONS: OptionTable<RunOptions> = {
	...COMMAND_OPTIONS,
	...COMMUNICATE_OPTIONS,
	reject: 'flag',
};

type Settings = ReadOptionsOf<RunOptions>;

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
	const limits = new RunLimits(options);
	try {
		const started = await Promise.race([start(machine, argv, options, limits), limits.happened]);
		if (!('process' in started)) return started;
		const {process} = started;
		const ended = waitForEnd(process, collector, options, limits);
		const first = await Promise.race([ended, limits.happened]);
		const interrupted = first.reason === 'disconnected' ? undefined : limits.current;
		return interrupted ? await endEarly(process, ended, interrupted, collector) : first;
	} finally {
		limits.dispose();
	}
}

/** Ends an interrupted process. The exit is kept if it is known, be it from before. */
async function endEarly(
	process: ProcessHandle,
	ended: Promise<Ending>,
	interrupted: Interrupted,
	collector: Collector,
): Promise<Ending> {
	let known: Omit<Ending, 'reason'> = {};
	const keep = ({exit, error}: Omit<Ending, 'reason'>): void => {
		known = {...known, ...(exit && {exit}), ...(error && {error})};
	};
	process.exited.then(
		exit => keep({exit}),
		() => {},
	);
	ended.then(keep, () => {});
	await endInterrupted(process, ended, interrupted);
	collector.stop();
	return {...interrupted, ...known};
}

async function start(
	machine: ProcessHost,
	argv: readonly string[],
	options: Settings,
	{disposed}: RunLimits,
): Promise<{process: ProcessHandle} | Ending> {
	try {
		const params = await toStartParams(machine, argv, {
			...options,
			stdin: options.stdin ?? options.input !== undefined,
		});
		const {timeout, signal} = options;
		const isLimited = timeout !== undefined || signal !== undefined;
		// A process whose start completes after the interruption is ended.
		return await startOn(machine, params, {timeout, backpressure: true, ...(isLimited && {signal: disposed})});
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
async function waitForEnd(
	process: ProcessHandle,
	collector: Collector,
	{input}: Settings,
	{disposed}: RunLimits,
): Promise<Ending> {
	const writing = input === undefined ? undefined : writeInput(process, input, {signal: disposed});
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

function reasonOf({reason}: ExitStatus): RunReason {
	if (reason === 'timeout') return 'timeout';
	return reason === 'signal' || reason === 'terminated' ? 'signal' : 'exit';
}
