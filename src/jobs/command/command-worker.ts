import {join} from 'node:path';
import {isDisconnected} from '../../client/files/file-error.js';
import {type ProcessHandle, ProcessLostError, type StartParams} from '../../client/process/process-handle.js';

import {toStartParams} from '../../client/run/command.js';
import {type Communicated, communicate} from '../../client/run/communicate.js';
import {RejectedError, TooManyCallsError} from '../../client/session/client-errors.js';
import type {Environment} from '../../environments/environment.js';
import {RpcError} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {Semaphore} from '../../shared/async/semaphore.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {JobInputError} from '../input/job-input-error.js';
import type {AttemptOutcome, ItemAttempt, ItemWorker, JobExecutor} from '../item-worker.js';
import type {JobDescription} from '../job-description.js';
import {JOB_FILES} from '../store/job-directory.js';
import {AttemptLogs, type KeptLogs} from './attempt-logs.js';
import {reportCommand} from './command-result.js';
import {type CommandSpec, CommandTemplate, type ResultMode} from './command-spec.js';
import {killOrphans} from './orphans.js';
import {RecordedPlaces} from './recorded-places.js';
import {type LeftReport, newReportDirectory, ReportPlace} from './report-place.js';
import {readRowFromFile} from './row-file.js';

/** Bytes of each stream that are kept of an attempt. */
const MAX_KEPT_OUTPUT_BYTES = 1024 * 1024;
/** Starts under way at once on one executor. */
const MAX_STARTING = 16;
/** Time between SIGTERM and SIGKILL for a command that has to end. */
const GRACE_MS = 2000;
/** The executor ends a command so long after its time limit, should this runner be unable to: it decides otherwise. */
const SERVER_DELAY_MS = 2 * GRACE_MS;
/** Rows longer than this are on standard input only: the kernel bounds one variable to 128 KiB. */
const MAX_ROW_VARIABLE_BYTES = 96 * 1024;
/** An upstream codex server ends a session and its processes 80 s after the client is lost; the rest allows for its delays. */
const STOCK_SESSION_MS = 85_000;
const TOKEN_VARIABLE = 'LONGARM_REPORT_TOKEN';
/** Refusals that are about the executor and not about the item: later it may take the same start. */
const BUSY_CODES: ReadonlySet<string | undefined> = new Set<string | undefined>([
	'PROCESS_LIMIT',
	'SESSION_LIMIT',
	'REQUEST_LIMIT',
	'SHUTTING_DOWN',
]);

/** The system is out of processes, memory or descriptors: EAGAIN, ENOMEM, ENFILE, EMFILE. */
const EXHAUSTED = /\(os error (?:11|12|23|24)\)/;

/** Options of a `CommandWorker`. */
export interface CommandWorkerOptions {
	readonly job: JobDescription;
	readonly spec: CommandSpec;
	/** Directory of the job. */
	readonly directory: string;
	/** Address for reports from this machine. */
	readonly reportUrl?: string | undefined;
	/** Keeps the output of attempts; files in the directory of the job by default. */
	readonly logs?: KeptLogs | undefined;
	/** Hears output as it comes. */
	readonly onOutput?: ((attempt: ItemAttempt, stream: 'stdout' | 'stderr', text: string) => void) | undefined;
}

/** Modes in which a report counts. */
const REPORT_MODES: ReadonlySet<ResultMode> = new Set<ResultMode>(['any', 'auto', 'report']);

/** An executor as commands need it. */
interface Place {
	readonly reports: ReportPlace;
	/** Of earlier runners, the latest first. */
	readonly earlier: readonly ReportPlace[];
	/** Everything of a start that is the same for all items. */
	readonly start: StartParams;
	/** How the row reaches the standard input of a command. */
	readonly input: 'none' | 'pipe' | 'file';
	readonly starting: Semaphore;
}

/** Runs a command for every item and takes its result from a report, or from its output. */
export class CommandWorker implements ItemWorker {
	readonly #options: CommandWorkerOptions;
	#template: CommandTemplate | undefined;
	readonly #logs: KeptLogs;
	readonly #places = new Map<JobExecutor, Promise<Place>>();
	readonly #lostAt = new Map<string, number>();
	readonly #recorded: RecordedPlaces;

	constructor(options: CommandWorkerOptions) {
		this.#options = options;
		this.#recorded = new RecordedPlaces(options.directory);
		this.#logs = options.logs ?? new AttemptLogs(join(options.directory, JOB_FILES.logs));
	}

	async run(attempt: ItemAttempt): Promise<AttemptOutcome> {
		let place: Place;
		let process: ProcessHandle;
		try {
			place = await this.#placeOf(attempt.executor);
			process = await place.starting.run(() => this.#start(attempt, place));
		} catch (error) {
			return this.#toStartFailure(error, attempt);
		}
		const input = place.input === 'pipe' ? inputOf(attempt) : undefined;
		return this.#follow(attempt, [place.reports], process, input);
	}

	/**
	 * Of this machine, what the killed runner left is killed, too: its output has gone nowhere. Elsewhere the process may be
	 * running still, and is followed.
	 */
	async recover(attempt: ItemAttempt): Promise<AttemptOutcome | 'over'> {
		const {environment} = attempt.executor;
		try {
			const {reports, earlier} = await this.#placeOf(attempt.executor);
			const places = this.#lostAt.has(processIdOf(attempt)) ? [reports] : [...earlier, reports];
			if (environment.kind === 'local') {
				if (!(await killOrphans(TOKEN_VARIABLE, attempt.token))) return lost('its processes do not end');
			} else {
				const process = await this.#attach(attempt);
				if (process) return await this.#follow(attempt, places, process, undefined);
			}
			return await this.#takeLeft(attempt, places);
		} catch (error) {
			return lost(errorMessage(error));
		}
	}

	/** Removes what the job left on its executors. */
	async dispose(): Promise<void> {
		const places = await Promise.allSettled(this.#places.values());
		await Promise.allSettled(
			places.flatMap(each =>
				each.status === 'fulfilled' ? [each.value.reports, ...each.value.earlier].map(place => place.remove()) : [],
			),
		);
	}

	#placeOf(executor: JobExecutor): Promise<Place> {
		const known = this.#places.get(executor);
		if (known) return known;
		const place = this.#prepare(executor);
		this.#places.set(executor, place);
		place.catch(() => this.#places.delete(executor));
		return place;
	}

	async #prepare({name, environment, cwd}: JobExecutor): Promise<Place> {
		const {job, directory, spec} = this.#options;
		const isHere = environment.kind === 'local';
		const place = isHere ? join(directory, JOB_FILES.reports) : newReportDirectory();
		const reports = new ReportPlace(environment, place);
		const earlier = isHere ? [] : this.#recorded.listEarlier(name).map(each => new ReportPlace(environment, each));
		const input = spec.stdin === 'none' ? 'none' : (await canCloseInput(environment)) ? 'pipe' : 'file';
		const canKeep = environment.kind === 'remote' && (await hasCapability(environment, 'processOnDisconnect'));
		const options = {
			stdin: input === 'pipe',
			...(cwd !== undefined && {cwd}),
			...(canKeep && {onDisconnect: {keepFor: job.rules.leaseMs}}),
		};
		const [start] = await Promise.all([toStartParams(environment, ['true'], options), reports.make()]);
		if (!isHere) this.#recorded.add(name, place);
		return {reports, earlier, start, input, starting: new Semaphore(MAX_STARTING)};
	}

	async #start(attempt: ItemAttempt, {start, reports, input}: Place): Promise<ProcessHandle> {
		const {jobId, itemId, rowIndex, row, executor, signal} = attempt;
		signal.throwIfAborted();
		this.#template ??= new CommandTemplate(this.#options.spec, this.#options.job);
		const {argv: command, variables} = this.#template.render({row, itemId, rowIndex, jobId});
		const file = {row: inputOf(attempt), reportPath: reports.pathOf(attempt)};
		const argv = input === 'file' ? await readRowFromFile(executor.environment, command, file) : command;
		const env = {...variables, ...this.#variables(attempt, reports)};
		const params = {...start, processId: processIdOf(attempt), argv, env};
		const timeout = this.#options.job.rules.maxRuntimeMs + SERVER_DELAY_MS;
		const starting = new AbortController();
		// Once it runs, it is asked to end first.
		const stopListening = onAbort(signal, reason => starting.abort(reason));
		try {
			const options = {backpressure: true, timeout, signal: starting.signal};
			return (await executor.environment.processes.start(params, options)).process;
		} finally {
			stopListening();
		}
	}

	#variables(attempt: ItemAttempt, reports: ReportPlace): Record<string, string> {
		const {reportUrl} = this.#options;
		const row = JSON.stringify(attempt.row);
		return {
			LONGARM_JOB_ID: attempt.jobId,
			LONGARM_ITEM_ID: attempt.itemId,
			LONGARM_ROW_INDEX: String(attempt.rowIndex),
			LONGARM_ATTEMPT: String(attempt.attempt),
			...(Buffer.byteLength(row) <= MAX_ROW_VARIABLE_BYTES && {LONGARM_ROW: row}),
			LONGARM_REPORT_FILE: reports.pathOf(attempt),
			[TOKEN_VARIABLE]: attempt.token,
			...(reportUrl !== undefined && attempt.executor.environment.kind === 'local' && {LONGARM_REPORT_URL: reportUrl}),
		};
	}

	async #follow(
		attempt: ItemAttempt,
		places: readonly ReportPlace[],
		process: ProcessHandle,
		input: string | undefined,
	): Promise<AttemptOutcome> {
		const {spec} = this.#options;
		const stopListening = onAbort(attempt.signal, () => {
			// A lost connection shows in the output as well.
			process.terminate({graceful: {timeoutMs: GRACE_MS}}).catch(() => {});
		});
		try {
			const ended = await communicate(process, {
				maxBytes: MAX_KEPT_OUTPUT_BYTES,
				...(input !== undefined && {input}),
				...this.#listeners(attempt),
			});
			const readsReports = REPORT_MODES.has(spec.result);
			const left: LeftReport = readsReports ? await takeReport(attempt, places) : {kind: 'none'};
			const outcome = await reportCommand(attempt, ended, left, spec.result);
			await this.#keepLogs(attempt, ended, outcome);
			return outcome;
		} catch (error) {
			if (!isLoss(error)) return await endFailed(process, error);
			this.#lostAt.set(processIdOf(attempt), performance.now());
			return lost(errorMessage(error));
		} finally {
			stopListening();
		}
	}

	#listeners(attempt: ItemAttempt) {
		const {onOutput} = this.#options;
		if (!onOutput) return {};
		return {
			onStdout: (text: string) => onOutput(attempt, 'stdout', text),
			onStderr: (text: string) => onOutput(attempt, 'stderr', text),
		};
	}

	async #keepLogs(attempt: ItemAttempt, ended: Communicated, outcome: AttemptOutcome): Promise<void> {
		const {logs} = this.#options.spec;
		const isWanted = logs === 'all' || (logs === 'failed' && outcome.kind !== 'reported');
		// A log that cannot be written is no reason to do the work again.
		if (isWanted) await this.#logs.write(attempt, ended).catch(() => {});
	}

	/** The process of an attempt, if the server still knows it; undefined if it is over. */
	async #attach(attempt: ItemAttempt): Promise<ProcessHandle | undefined> {
		const {environment} = attempt.executor;
		const id = processIdOf(attempt);
		const canShare = await hasCapability(environment, 'processAttach');
		try {
			return await environment.attach(id, {backpressure: true, ...(canShare && {role: 'drive', takeover: true})});
		} catch (error) {
			if (!(error instanceof RpcError)) throw error;
		}
		const lostAt = this.#lostAt.get(id);
		if (canShare || lostAt === undefined) return undefined;
		// The old session may live on for a while with the process in it, out of reach.
		const leftMs = STOCK_SESSION_MS - (performance.now() - lostAt);
		if (leftMs > 0) await new Promise(resolve => setTimeout(resolve, leftMs));
		return undefined;
	}

	async #takeLeft(attempt: ItemAttempt, places: readonly ReportPlace[]): Promise<AttemptOutcome | 'over'> {
		this.#lostAt.delete(processIdOf(attempt));
		const left = await takeReport(attempt, places);
		if (left.kind !== 'result') return 'over';
		const answer = await attempt.report(left.result, {stop: left.stop});
		return answer.accepted ? {kind: 'reported'} : 'over';
	}

	#toStartFailure(error: unknown, attempt: ItemAttempt): AttemptOutcome {
		if (attempt.signal.aborted) return {kind: 'unreported'};
		const message = error instanceof RejectedError ? error.reason : errorMessage(error);
		if (error instanceof TooManyCallsError) return {kind: 'failed', reason: 'refused', error: message};
		const isRefused = error instanceof RpcError || error instanceof LongarmError || error instanceof TypeError;
		if (isRefused || error instanceof JobInputError) {
			return {kind: 'failed', reason: isBusy(error, message) ? 'refused' : 'start', error: message};
		}
		this.#lostAt.set(processIdOf(attempt), performance.now());
		return lost(message);
	}
}

/** Whether the executor has no room at the moment, so that the same start may succeed later. */
function isBusy(error: Error, message: string): boolean {
	return (error instanceof RejectedError && BUSY_CODES.has(error.errorCode)) || EXHAUSTED.test(message);
}

/** The report of an attempt, in the first place that has one. */
async function takeReport(attempt: ItemAttempt, places: readonly ReportPlace[]): Promise<LeftReport> {
	for (const place of places) {
		const left = await place.take(attempt);
		if (left.kind !== 'none') return left;
	}
	return {kind: 'none'};
}

/** The same for every runner, so that a later one finds the process. */
function processIdOf({jobId, rowIndex, attempt}: ItemAttempt): string {
	return `fanout-${jobId}-${rowIndex}.${attempt}`;
}

/** The row as a command reads it. */
function inputOf({row}: ItemAttempt): string {
	return `${JSON.stringify(row)}\n`;
}

/** A command that cannot be followed must not go on beside the next attempt. */
async function endFailed(process: ProcessHandle, error: unknown): Promise<AttemptOutcome> {
	await process.terminate({graceful: {timeoutMs: GRACE_MS}}).catch(() => {});
	return {kind: 'failed', reason: 'exit', error: errorMessage(error)};
}

/** Whether the connection is to blame, so that the process may be running still. */
function isLoss(error: unknown): boolean {
	return error instanceof ProcessLostError || error instanceof DisconnectedError || isDisconnected(error);
}

function lost(error: string): AttemptOutcome {
	return {kind: 'failed', reason: 'lost', error};
}

async function canCloseInput(environment: Environment): Promise<boolean> {
	return environment.kind === 'local' || (await hasCapability(environment, 'processCloseStdin'));
}

async function hasCapability(environment: Environment, name: string): Promise<boolean> {
	return (await environment.server()).capabilities[name] === true;
}
