import {noTerminalError, toSignal, toTerminationMode} from '../../adapters/process-params.js';
import {describeSnapshot} from '../../adapters/process-snapshot.js';
import {toWireError} from '../../adapters/wire-errors.js';
import {BaseProcess} from '../../client/process/base-process.js';
import type {PausableSource} from '../../client/process/event-stream.js';
import type {
	NumberedEvent,
	ProcessSnapshot,
	ReadOptions,
	ReadResult,
	Signal,
	TerminateMode,
	TerminateResult,
	WriteResult,
} from '../../client/process/process-handle.js';
import type {LogEntry, LoggedPage, ProcessShare, RecordingEntry, Screen} from '../../client/process/shared-process.js';
import {RejectedError} from '../../client/session/client-errors.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {DriverCursor, LogEvent} from '../../processes/output/log-cursor.js';
import type {Chunk, OutputPage} from '../../processes/output/output-log.js';
import {readOutput} from '../../processes/output/read-output.js';
import {RpcError} from '../../protocol/wire/error-codes.js';
import {Lifetime} from '../../shared/async/lifetime.js';
import {LongarmError} from '../../shared/errors.js';

/** Every wait for output ends with the process, which ends with its environment. */
const ENDLESS = new Lifetime();

export interface LocalProcessOptions {
	/** The first reader misses nothing. */
	readonly backpressure?: boolean;
	readonly name?: string | undefined;
}

/** A process of this program's own machine, without any wire in between. */
export class LocalProcess extends BaseProcess {
	readonly processId: string;
	readonly name: string | undefined;
	/** There is no other client. */
	readonly role = 'drive';
	readonly driver = undefined;
	readonly #process: ManagedProcess;
	readonly #cursor: DriverCursor;
	readonly #delivery: Delivery;
	#writes = 0;

	constructor(process: ManagedProcess, {backpressure = false, name}: LocalProcessOptions = {}) {
		const delivery = new Delivery(() => this.#deliver());
		super(backpressure ? delivery : undefined);
		this.processId = process.id;
		this.name = name;
		this.#delivery = delivery;
		this.#process = process;
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
		if (!this.#process.takesInput) return {status: 'stdinClosed'};
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

	async resize({rows, cols}: {rows: number; cols: number}): Promise<void> {
		if (!this.#process.resize({rows, columns: cols})) throw toRejectedError(noTerminalError(this.processId));
	}

	async signal(signal: Signal): Promise<void> {
		try {
			this.#process.signal(toSignal(signal));
		} catch (error) {
			throw toRejectedError(error);
		}
	}

	async terminate(mode?: TerminateMode): Promise<TerminateResult> {
		const {running, survivors} = this.#process.terminate(toTerminationMode(mode));
		const alive = await survivors;
		return {running, ...(alive.length > 0 && {survivors: alive.map(({pid, command}) => ({pid, command}))})};
	}

	/** This program drives it already. */
	async takeOver(): Promise<void> {}

	async giveBack(): Promise<void> {
		throw needsDaemonError('giveBack()');
	}

	async detach(): Promise<void> {
		throw needsDaemonError('detach()');
	}

	async screen(): Promise<Screen> {
		throw needsDaemonError('screen()');
	}

	logs(): AsyncIterableIterator<LogEntry> {
		throw needsDaemonError('logs()');
	}

	async logPage(): Promise<LoggedPage> {
		throw needsDaemonError('logPage()');
	}

	recording(): AsyncIterableIterator<RecordingEntry> {
		throw needsDaemonError('recording()');
	}

	async share(): Promise<ProcessShare> {
		throw needsDaemonError('share()');
	}

	async remove(): Promise<void> {
		throw needsDaemonError('remove()');
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (!this.isOver) await this.terminate();
	}

	/** Walks the log to its end, or until the reader has enough. */
	#deliver(): void {
		while (!this.#delivery.isPaused) {
			const event = this.#cursor.next();
			if (!event) break;
			this.raiseLastSeq(event.kind === 'gap' ? event.throughSeq : event.seq);
			this.publish(event.kind === 'gap' ? event : toEvent(event));
		}
		this.#cursor.commit();
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
			return {kind, seq, exitCode, sandboxDenied, reason: reason === 'exit' ? undefined : reason};
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

/** A failure as it would look had it come from a server, so that callers need to know one kind only. */
export function toRejectedError(error: unknown): unknown {
	const answer = toWireError(error);
	return answer instanceof RpcError ? new RejectedError(answer) : answer;
}
