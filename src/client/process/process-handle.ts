import type {Params, ParamsOnWire, Result} from '../../protocol/methods/method-table.js';
import type {OutputStream} from '../../protocol/methods/process-methods.js';

export type StartParams = ParamsOnWire<'process/start'>;
export type SandboxType = Result<'process/start'>['sandboxType'];
export type ReadOptions = Omit<ParamsOnWire<'process/read'>, 'processId'>;
export type ReadResult = Result<'process/read'>;
export type WriteResult = Result<'process/write'>;
export type Signal = ParamsOnWire<'process/signal'>['signal'];
export type TerminateMode = ParamsOnWire<'process/terminate'>['mode'];
export type TerminateResult = Result<'process/terminate'>;
export type ExitStatus = Omit<Extract<NumberedEvent, {kind: 'exited'}>, 'kind' | 'seq'>;

/** A piece of output, or the place where some is gone for good. */
export type Output =
	| {readonly kind: 'output'; readonly stream: OutputStream; readonly bytes: Uint8Array}
	| {readonly kind: 'gap'; readonly missedBytes: number | undefined};

/** Nothing more can be learnt about a process: the link is gone, or its events are beyond repair. */
export class ProcessLostError extends Error {
	override readonly name = 'ProcessLostError';
}

/**
 * A process, wherever it runs. Its events are ordered and kept for a while; it lives on when nobody holds this object,
 * unless that was said with `await using`.
 */
export interface ProcessHandle extends AsyncDisposable {
	readonly processId: string;
	/** Settles with the exit the kernel reported; rejects with a `ProcessLostError` when the process was lost before. */
	readonly exited: Promise<ExitStatus>;
	/** Settles when the process and all its output have ended; rejects when it was lost before. */
	readonly closed: Promise<void>;
	/** The highest number that was heard of. A change means that there is something new to read, nothing else. */
	readonly lastSeq: number;
	/** Whether nothing more will happen. */
	readonly isOver: boolean;
	/** Settles with the number as soon as it is above `after`. */
	waitForSeq(after: number): Promise<number>;
	/** Retained output after a cursor. When the process is lost, a closed result that says why. */
	read(options?: ReadOptions): Promise<ReadResult>;
	/** Bytes for the standard input, not to be changed until they are taken; each write is taken once. */
	write(bytes: Uint8Array | string): Promise<WriteResult>;
	closeStdin(): Promise<void>;
	resize(size: {rows: number; cols: number}): Promise<void>;
	signal(signal: Signal): Promise<void>;
	terminate(mode?: TerminateMode): Promise<TerminateResult>;
	/** Everything that happens, in order: what is kept of the past first. Ends with `closed` or `failed`. */
	events(): AsyncIterableIterator<StreamEvent>;
	/** The output alone, what a slow reader missed fetched again as long as it is kept. Throws when the process is lost. */
	output(): AsyncIterableIterator<Output>;
}

export interface StartedProcess {
	readonly process: ProcessHandle;
	/** Undefined where the executor does not say. */
	readonly sandboxType: SandboxType;
}

export interface StartOptions {
	/** Aborting ends the process, or keeps it from being started. */
	readonly signal?: AbortSignal | undefined;
	/**
	 * The process waits for its reader: the first `events()` or `output()` misses nothing, however slow it is. Everything
	 * else on the same connection waits with it, answers included, so it is made for one process per connection; without
	 * a reader nothing ever goes on.
	 */
	readonly holdsBack?: boolean | undefined;
}

/** The processes of one machine. */
export interface Processes {
	/** Rejects when the process could not be started, and with the signal's reason when that came first. */
	start(params: StartParams, options?: StartOptions): Promise<StartedProcess>;
}

/** Where output came from. */
export type {OutputStream};

/** What happens to a process, numbered from 1 without gaps. Exit and end of output are two facts. */
export type NumberedEvent =
	| {readonly kind: 'output'; readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array}
	| {
			readonly kind: 'exited';
			readonly seq: number;
			readonly exitCode: number;
			/** Unknown where the server does not say. */
			readonly sandboxDenied: boolean | undefined;
			/** What ended it, where the server says more than the code. */
			readonly reason: Params<'process/exited'>['reason'];
	  }
	| {readonly kind: 'closed'; readonly seq: number};

/** Events that are gone for good: the connection was away for longer than the server keeps output. */
export interface Gap {
	readonly kind: 'gap';
	readonly afterSeq: number;
	readonly throughSeq: number;
	/** Where the server says how much it was. */
	readonly missedBytes: number | undefined;
}

/** `failed` ends the events of a process nobody can say anything about any more; it is not an exit. */
export type ProcessEvent = NumberedEvent | Gap | {readonly kind: 'failed'; readonly message: string};

/** Events were dropped because the subscriber came or took too late; a read from `afterSeq` may still have them. */
export interface Lagged {
	readonly kind: 'lagged';
	readonly missed: number;
	readonly afterSeq: number;
}

export type StreamEvent = ProcessEvent | Lagged;

/** Bytes an event holds in memory. */
export function payloadOf(event: ProcessEvent): number {
	if (event.kind === 'output') return event.bytes.length;
	return event.kind === 'failed' ? event.message.length : 0;
}

/** Whether it is the last event of its process. */
export function isLast(event: ProcessEvent): boolean {
	return event.kind === 'closed' || event.kind === 'failed';
}
