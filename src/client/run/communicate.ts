import {type OptionTable, readOptions} from '../../shared/call-options.js';
import type {Duration} from '../../shared/units.js';
import type {ExitStatus, ProcessHandle} from '../process/process-handle.js';
import {COLLECT_OPTIONS, type Collected, type CollectOptions, Collector} from './collector.js';
import {endInterrupted, RunLimits} from './run-limits.js';
import {RunError} from './run-result.js';
import {type Input, writeInput} from './write-input.js';

/** Options of `communicate`. */
export interface CommunicateOptions extends CollectOptions {
	/** Written to the standard input, which is closed then. */
	readonly input?: Input | undefined;
	/** Ends the command and everything below it after so many milliseconds, or `'5s'`. */
	readonly timeout?: Duration | undefined;
	/** Ends the command and everything below it when it is aborted. */
	readonly signal?: AbortSignal | undefined;
}

export const COMMUNICATE_OPTIONS: OptionTable<CommunicateOptions> = {
	...COLLECT_OPTIONS,
	input: 'any',
	timeout: 'duration',
	signal: 'signal',
};

/** Collected output and exit of a process. */
export interface Communicated {
	readonly exit: ExitStatus;
	/** False if output was lost, which the server did not keep while the connection was lost. */
	readonly isComplete: boolean;
	/** On a terminal, both streams. */
	readonly stdout: Collected;
	readonly stderr: Collected;
}

/**
 * Writes the input and collects the output of a process until both have ended. Rejects when the process is lost, and with a
 * `RunError` when it took too long or was aborted.
 */
export async function communicate(process: ProcessHandle, options: CommunicateOptions = {}): Promise<Communicated> {
	const settings = readOptions<CommunicateOptions>(options, COMMUNICATE_OPTIONS, 'communicate()');
	const startedAt = performance.now();
	const collector = new Collector(settings);
	const limits = new RunLimits(settings);
	let exit: ExitStatus | undefined;
	const collect = async (): Promise<undefined> => {
		const {input} = settings;
		const writing = input === undefined ? undefined : writeInput(process, input, {signal: limits.disposed});
		await Promise.all([collector.collect(process), writing]);
		exit = await process.exited;
	};
	const collected = collect();
	try {
		const interrupted = (await Promise.race([collected, limits.happened])) ?? limits.current;
		if (!interrupted) return {exit: exit!, isComplete: !collector.hasGap, ...outputOf(collector)};
		const keepExit = (known: ExitStatus): void => {
			exit ??= known;
		};
		process.exited.then(keepExit, () => {});
		await endInterrupted(process, collected, interrupted);
		collector.stop();
		const {reason, error} = interrupted;
		const facts = {argv: [], reason, exitCode: exit?.exitCode, durationMs: performance.now() - startedAt, error};
		throw new RunError({...facts, ...outputOf(collector)}, `process ${process.processId}`);
	} finally {
		limits.dispose();
	}
}

function outputOf({stdout, stderr}: Collector): {readonly stdout: Collected; readonly stderr: Collected} {
	return {stdout, stderr};
}
