import {noTerminalError, toSignal, toTerminationMode} from '../../adapters/process-params.js';
import {describeSnapshot} from '../../adapters/process-snapshot.js';
import {BaseProcess} from '../../client/process/base-process.js';
import type {PausableSource} from '../../client/process/event-stream.js';
import {inputClosedError} from '../../client/process/input-closed.js';
import type {
	NumberedEvent,
	ProcessSnapshot,
	ReadOptions,
	ReadResult,
	TerminateMode,
	TerminateResult,
	WireSignal,
	WriteResult,
} from '../../client/process/process-handle.js';
import {fetchLogPage, readLogs} from '../../client/process/process-logs.js';
import {readRecording} from '../../client/process/process-recording.js';
import {fetchScreen, requestRemoval} from '../../client/process/remote-sharing.js';
import {
	type ListedShare,
	type LogEntry,
	type LoggedPage,
	type LoggedPageOptions,
	type LogOptions,
	type ProcessShare,
	type RecordingEntry,
	type Screen,
	type ScreenOptions,
	TAKE_OVER_OPTIONS,
	type TakeOverOptions,
} from '../../client/process/shared-process.js';
import type {WaitCondition, WaitOptions, WaitResultOf} from '../../client/run/wait-for.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {DriverCursor, LogEvent} from '../../processes/output/log-cursor.js';
import type {Chunk, OutputPage} from '../../processes/output/output-log.js';
import {readOutput} from '../../processes/output/read-output.js';
import {METHODS, type Params} from '../../protocol/methods/method-table.js';
import {decode} from '../../protocol/wire/decode.js';
import {Lifetime} from '../../shared/async/lifetime.js';
import {readOptions} from '../../shared/call-options.js';
import {LongarmError} from '../../shared/errors.js';
import {type AskedProcesses, LocalCaller} from './local-caller.js';
import {toRejectedError} from './rejected-locally.js';

/** Every wait for output ends with the process, which ends with its environment. */
const ENDLESS = new Lifetime();

export interface LocalProcessOptions {
	/** Finds the process for questions about it. */
	readonly processes: AskedProcesses;
	/** The first reader misses nothing. */
	readonly backpressure?: boolean;
	readonly name?: string | undefined;
	readonly hasStdin?: boolean;
}

/** A process of this program's own machine, without any wire in between. */
export class LocalProcess extends BaseProcess {
	readonly processId: string;
	readonly name: string | undefined;
	/** There is no other client. */
	readonly role = 'drive';
	readonly driver = undefined;
	readonly #process: ManagedProcess;
	readonly #processes: AskedProcesses;
	readonly #caller: LocalCaller;
	readonly #cursor: DriverCursor;
	readonly #delivery: Delivery;
	readonly #hasStdin: boolean;
	#writes = 0;

	constructor(process: ManagedProcess, {processes, backpressure = false, name, hasStdin = true}: LocalProcessOptions) {
		const delivery = new Delivery(() => this.#deliver());
		super(backpressure ? delivery : undefined);
		this.processId = process.id;
		this.name = name;
		this.#hasStdin = hasStdin;
		this.#delivery = delivery;
		this.#process = process;
		this.#processes = processes;
		this.#caller = new LocalCaller(processes, ENDLESS);
		this.#cursor = process.log.drive(() => this.#deliver());
	}

	async read({afterSeq, maxBytes, waitMs}: ReadOptions = {}): Promise<ReadResult> {
		const request = {afterSeq: afterSeq ?? 0, maxBytes: maxBytes ?? undefined, waitMs: waitMs ?? 0};
		return readOutput(this.#process.log, request, ENDLESS, page => this.#toResult(page));
	}

	async snapshot(): Promise<ProcessSnapshot> {
		return describeSnapshot(this.#process);
	}

	async write(bytes: Uint8Array | string): Promise<WriteResult> {
		if (!this.#hasStdin) throw inputClosedError(this.processId, 'noStdin');
		if (!this.#process.isAlive) throw inputClosedError(this.processId, 'exited');
		if (!this.#process.takesInput || this.#process.losesInput(undefined)) {
			throw inputClosedError(this.processId, 'stdinClosed');
		}
		const chunk = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
		try {
			await this.#process.write(chunk, `local-${++this.#writes}`);
		} catch (error) {
			throw toRejectedError(error);
		}
		return {status: 'accepted'};
	}

	async closeStdin(): Promise<void> {
		this.#process.closeStdin();
	}

	async resize(size: {rows: number; cols: number}): Promise<void> {
		const {rows, cols} = this.#decode('process/resize', size);
		if (!this.#process.resize({rows, columns: cols})) throw toRejectedError(noTerminalError(this.processId));
	}

	protected async sendSignal(signal: WireSignal): Promise<void> {
		try {
			this.#process.signal(toSignal(signal));
		} catch (error) {
			throw toRejectedError(error);
		}
	}

	async terminate(mode: TerminateMode = 'force'): Promise<TerminateResult> {
		const decoded = this.#decode('process/terminate', {mode});
		const {running, survivors} = this.#process.terminate(toTerminationMode(decoded.mode));
		const alive = await survivors;
		const left = alive.length > 0 && {survivors: alive.map(({pid, command}) => ({pid, command}))};
		return this.reportTermination(mode, {running, ...left});
	}

	/** This program drives it already. */
	async takeOver(options: TakeOverOptions = {}): Promise<void> {
		const {size} = readOptions<TakeOverOptions>(options, TAKE_OVER_OPTIONS, 'takeOver()');
		if (size) await this.resize(size);
	}

	async giveBack(): Promise<void> {
		throw needsDaemonError('giveBack()');
	}

	async detach(): Promise<void> {
		throw needsDaemonError('detach()');
	}

	override async waitFor<K extends keyof WaitCondition>(
		condition: Pick<WaitCondition, K>,
		options?: WaitOptions,
	): Promise<WaitResultOf<K>> {
		const {waitOnServer} = await import('../../client/process/server-wait.js');
		const lifetime = new Lifetime();
		try {
			return await waitOnServer(this, new LocalCaller(this.#processes, lifetime), condition, options);
		} finally {
			lifetime.close();
		}
	}

	async screen(options: ScreenOptions = {}): Promise<Screen> {
		return fetchScreen(this.#caller, this.processId, options);
	}

	logs(options?: LogOptions): AsyncIterableIterator<LogEntry> {
		return readLogs(this, this.#caller, options);
	}

	async logPage(options?: LoggedPageOptions): Promise<LoggedPage> {
		return fetchLogPage(this, this.#caller, options);
	}

	recording(options?: {readonly signal?: AbortSignal | undefined}): AsyncIterableIterator<RecordingEntry> {
		return readRecording(this, this.#caller, options);
	}

	async share(): Promise<ProcessShare> {
		throw needsDaemonError('share()');
	}

	/** No other client can reach a process of this program. */
	async shares(): Promise<ListedShare[]> {
		return [];
	}

	async unshare(): Promise<boolean> {
		return false;
	}

	async remove(): Promise<void> {
		await requestRemoval(this.#caller, this.processId);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (!this.isOver) await this.terminate();
	}

	/**
	 * Walks the log to its end, or until the reader has enough. Of a process that has closed, everything is delivered: no more
	 * can follow. An exit settles `exited` even if the reader has not come to it.
	 */
	#deliver(): void {
		const {log} = this.#process;
		this.raiseLastSeq(log.nextSeq - 1);
		while (!this.#delivery.isPaused || log.closedSeq !== undefined) {
			const event = this.#cursor.next();
			if (!event) break;
			this.publish(event.kind === 'gap' ? event : toEvent(event));
		}
		this.#cursor.commit();
		if (this.#delivery.isPaused && log.exit) this.settleEnd(toEvent({kind: 'exited', ...log.exit}));
	}

	/** Checks what a server would check. */
	#decode<M extends 'process/resize' | 'process/terminate'>(method: M, params: object): Params<M> {
		try {
			return decode(METHODS[method].params, {processId: this.processId, ...params});
		} catch (error) {
			throw toRejectedError(error);
		}
	}

	#toResult({chunks, nextSeq, missedBytes}: OutputPage): ReadResult {
		const {exit, closedSeq} = this.#process.log;
		return {
			chunks: chunks.map(({seq, stream, bytes}: Chunk) => ({seq, stream, chunk: copyOf(bytes)})),
			nextSeq,
			exited: exit !== undefined,
			exitCode: exit?.exitCode ?? null,
			closed: closedSeq !== undefined,
			failure: null,
			sandboxDenied: exit?.sandboxDenied ?? false,
			...(missedBytes > 0 && {missedBytes}),
		};
	}
}

/** Delivery that the reader can pause; output that stays in the log then pauses the child. */
class Delivery implements PausableSource {
	isPaused = false;
	readonly #resumed: () => void;

	constructor(resumed: () => void) {
		this.#resumed = resumed;
	}

	pause(): void {
		this.isPaused = true;
	}

	resume(): void {
		this.isPaused = false;
		this.#resumed();
	}
}

/** The log reuses the memory of its chunks. They are a `Buffer`, whose own `slice` does not copy. */
function copyOf(bytes: Uint8Array): Uint8Array {
	return new Uint8Array(bytes);
}

function toEvent(event: LogEvent): NumberedEvent {
	switch (event.kind) {
		case 'output':
			return {...event, bytes: copyOf(event.bytes)};
		case 'exited': {
			const {kind, seq, exitCode, reason, sandboxDenied = false} = event;
			return {kind, seq, exitCode, sandboxDenied, reason};
		}
		case 'closed':
			return event;
	}
}

/** Members that the processes of this program do not have, because it is the only client and keeps nothing on disk. */
export function needsDaemonError(what: string): LongarmError {
	const message = `processes of this program itself have no ${what}; start them with detach: true`;
	return new LongarmError('NOT_SUPPORTED', {message});
}
