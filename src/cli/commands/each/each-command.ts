import {isatty} from 'node:tty';
import {isSuccess} from '../../../environments/many/machine-outcome.js';
import {
	MAX_PARALLEL,
	type Machine,
	type MachineResult,
	type RunOnEachOptions,
	runOnEach,
} from '../../../environments/many/run-on-each.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {writeMessage} from '../../common/messages.js';
import {parseWholeNumber} from '../../common/processes/option-values.js';
import {BrokenPipeError} from '../../common/stdout.js';
import {parseTimeOption} from '../../common/times.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {parseVariables} from '../run/run-command.js';
import {EachProgress} from './each-progress.js';
import {FoldedReport} from './folded-report.js';
import {MachineLines} from './machine-lines.js';
import {selectMachines} from './select-machines.js';

export interface EachRequest {
	readonly selectors: readonly string[];
	readonly argv: readonly string[];
	readonly cwd: string | undefined;
	/** `NAME=value`. */
	readonly variables: readonly string[];
	readonly timeout: string | undefined;
	readonly parallel: string | undefined;
	readonly canary: string | undefined;
	readonly stopAfter: string | undefined;
	readonly stream: boolean;
	readonly json: boolean;
}

const STDERR = 2;

/** Runs a command on all machines of the selectors and shows how it went; settles with the exit code. */
export async function runOnMachines(request: EachRequest): Promise<number> {
	if (request.stream && request.json) throw usageError('--stream and --json exclude each other');
	const options = readRequest(request);
	const machines = await selectMachines(request.selectors, request.cwd);
	using interruption = new Interruption();
	try {
		const results = await runAndReport(machines, request, {...options, signal: interruption.signal});
		const reason: unknown = interruption.signal.reason;
		return reason instanceof InterruptedError ? reason.exitCode : exitCodeOf(results);
	} catch (error) {
		if (error instanceof BrokenPipeError) return EXIT.brokenPipe;
		throw error;
	}
}

async function runAndReport(
	machines: readonly Machine[],
	{argv, stream, json}: EachRequest,
	options: RunOnEachOptions & {readonly signal: AbortSignal},
): Promise<MachineResult[]> {
	const stop = new AbortController();
	const progress = isatty(STDERR) && !stream ? new EachProgress(machines.length) : undefined;
	const ids = machines.map(({id}) => id);
	const lines = stream ? new MachineLines(ids, () => stop.abort()) : undefined;
	const report = new FoldedReport(machines.length);
	try {
		const results = await runOnEach(machines, argv, {
			...options,
			signal: AbortSignal.any([options.signal, stop.signal]),
			onStart: id => progress?.start(id),
			...(lines && {onOutput: (id, output) => lines.write(id, output)}),
			onResult: result => {
				progress?.finish(result);
				lines?.finish(result.id);
			},
		});
		progress?.end();
		await lines?.flush();
		if (lines) writeMessage(...report.toSummary(results));
		else await (json ? report.writeJson(results) : report.writeText(results));
		return results;
	} finally {
		progress?.end();
	}
}

function readRequest(request: EachRequest): RunOnEachOptions {
	const {variables, timeout, parallel, canary, stopAfter} = request;
	return {
		env: parseVariables(variables),
		timeout: parseTimeOption('--timeout', timeout),
		...(parallel !== undefined && {parallel: parseCount('--parallel', parallel, MAX_PARALLEL)}),
		...(canary !== undefined && {canary: parseCount('--canary', canary)}),
		...(stopAfter !== undefined && {stopAfter: parseCount('--stop-after', stopAfter)}),
	};
}

function parseCount(flag: string, text: string, max?: number): number {
	const count = parseWholeNumber(flag, text);
	if (count >= 1 && count <= (max ?? count)) return count;
	throw usageError(`${flag} ${text}: expected a whole number ${max === undefined ? 'above 0' : `from 1 to ${max}`}`);
}

/** A machine that is lost weighs more than a command that failed: of it nothing is known. */
function exitCodeOf(results: readonly MachineResult[]): number {
	if (results.some(({outcome: {kind}}) => kind === 'lost' || kind === 'failed')) return EXIT.notRun;
	return results.every(({outcome}) => isSuccess(outcome)) ? EXIT.ok : EXIT.failed;
}
