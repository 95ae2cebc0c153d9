import type {Params, ParamsOnWire, Result} from '../../protocol/methods/method-table.js';
import type {OutputStream} from '../../protocol/methods/process-methods.js';
import type {WaitCondition, WaitOptions, WaitResultOf} from '../run/wait-for.js';
import type {
	AttachProcessOptions,
	ListedProcess,
	ListedShare,
	ListProcessesOptions,
	LogEntry,
	LoggedPage,
	LoggedPageOptions,
	LogOptions,
	ProcessChange,
	ProcessRole,
	ProcessShare,
	RecordingEntry,
	Screen,
	ScreenOptions,
	ShareOptions,
	TakeOverOptions,
} from './shared-process.js';
import type {TextOptions} from './text-streams.js';

/** Everything the server is told about a process to start, as the wire has it. */
export type StartParams = ParamsOnWire<'process/start'>;
/** Mechanism that enforces the sandbox of a process. */
export type SandboxType = Result<'process/start'>['sandboxType'];
/** Options of `read`: where it begins, how much it takes, how long it waits. */
export type ReadOptions = Omit<ParamsOnWire<'process/read'>, 'processId'>;
/** Retained output of a process, and its state. */
export type ReadResult = Result<'process/read'>;
/** Whether input was accepted. */
export type WriteResult = Result<'process/write'>;
/** Signal as the wire has it. */
export type WireSignal = ParamsOnWire<'process/signal'>['signal'];
/** Signal to a process: `'SIGTERM'`, `{name: 'TERM'}`, or the interrupt key of its terminal. */
export type Signal = WireSignal | `SIG${string}`;
/**
 * Whether a process is killed at once or asked to end first. With `null` no mode is sent, as stock clients do: what an exited
 * process has left behind is left alone.
 */
export type TerminateMode = ParamsOnWire<'process/terminate'>['mode'];
/** Whether the process was running, and what is left of its tree. */
export type TerminateResult = Result<'process/terminate'>;
/** Head and tail of each stream of a process, and its state. */
export type ProcessSnapshot = Result<'process/snapshot'>;
/** How a process ended. */
export type ExitStatus = Omit<Extract<NumberedEvent, {kind: 'exited'}>, 'kind' | 'seq'>;

/** A chunk of output, or a gap where output is lost. */
export type Output =
	| {readonly kind: 'output'; readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array}
	| {readonly kind: 'gap'; readonly missedBytes: number | undefined};

/** A process was lost: the session cannot be resumed, or its events cannot be put in order. */
export class ProcessLostError extends Error {
	override readonly name = 'ProcessLostError';
}

/**
 * Handle of a process on any machine. Its events are ordered and retained within bounds. The process does not end with
 * this object, except with `await using`.
 */
export interface ProcessHandle extends AsyncDisposable {
	readonly processId: string;
	/** Resolves with the exit the kernel reported; rejects with a `ProcessLostError` when the process was lost before. */
	readonly exited: Promise<ExitStatus>;
	/** Resolves when the process and all its output have ended; rejects when it was lost before. */
	readonly closed: Promise<void>;
	/** The highest sequence number known. A change only means that there is something new to read. */
	readonly lastSeq: number;
	/** True if no event can follow: it closed or was lost. */
	readonly isOver: boolean;
	/** Resolves with `lastSeq` as soon as it is above `after`. */
	waitForSeq(after: number): Promise<number>;
	/** Retained output after a sequence number. For a lost process, a closed result with `failure`. */
	read(options?: ReadOptions): Promise<ReadResult>;
	/**
	 * Writes to the standard input, exactly once. The bytes must not change until the promise settles. Rejects with the code
	 * `STDIN_CLOSED` if the process has no input, has closed it or has exited; a stock server tells that late or never.
	 */
	write(bytes: Uint8Array | string): Promise<WriteResult>;
	closeStdin(): Promise<void>;
	resize(size: {rows: number; cols: number}): Promise<void>;
	/** Sends a signal to the process group. Signals other than `interrupt` and `SIGINT` need `processSignalByName`. */
	signal(signal: Signal): Promise<void>;
	/**
	 * Ends the process and everything below it, by force unless told otherwise; after its exit, what it has left behind. A
	 * request that a lost connection interrupts is repeated when the session is resumed. `running` is false if it had ended before.
	 */
	terminate(mode?: TerminateMode): Promise<TerminateResult>;
	/** All events in order, retained ones first. Ends with `closed` or `failed`. */
	events(): AsyncIterableIterator<StreamEvent>;
	/** Output only; what a slow reader missed is read again while it is retained. Throws when the process is lost. */
	output(options?: OutputOptions): AsyncIterableIterator<Output>;
	/** Output as text, each stream decoded on its own; a line tells of output that was lost. */
	text(options?: TextOptions): AsyncIterableIterator<string>;
	/** The same line by line, without line ends. */
	lines(options?: TextOptions): AsyncIterableIterator<string>;
	/** Head and tail of each stream, with their true sizes. Needs a server with `processSnapshot`. */
	snapshot(): Promise<ProcessSnapshot>;
	/** Name it was started with or attached by; undefined if it is not known to have one. */
	readonly name: string | undefined;
	/** Role of this client. A process is driven by the client that started it, until another takes over. */
	readonly role: ProcessRole;
	/** Name of the driver; undefined if there is none, or if it is this client and the server has not told its name. */
	readonly driver: string | undefined;
	/** Drives the process from now on. The driver so far keeps watching. Needs a server with `processAttach`. */
	takeOver(options?: TakeOverOptions): Promise<void>;
	/** Leaves the seat of the driver to others, and keeps watching. Needs a server with `processAttach`. */
	giveBack(): Promise<void>;
	/** Ends the events of this handle; the process runs on. Needs a server with `processAttach`. */
	detach(): Promise<void>;
	/**
	 * Waits until the process meets a condition; it runs on in any case. The server waits where it can (`processWaitFor`),
	 * else this client looks at the output.
	 */
	waitFor<K extends keyof WaitCondition>(
		condition: Pick<WaitCondition, K>,
		options?: WaitOptions,
	): Promise<WaitResultOf<K>>;
	/** The screen of the terminal, now or at a past moment. Needs a server with `processScreen`. */
	screen(options?: ScreenOptions): Promise<Screen>;
	/** Output with its times, also long after the exit. Needs a server with `processSpill`. */
	logs(options?: LogOptions): AsyncIterableIterator<LogEntry>;
	/** One page of the output, from any byte on, also long after the exit. Needs a server with `processSpill`. */
	logPage(options?: LoggedPageOptions): Promise<LoggedPage>;
	/**
	 * All that is kept up to now, with its times: output, sizes of the terminal, input if that was recorded, the exit. Needs
	 * output on disk and a server with `processSpill`.
	 */
	recording(options?: {readonly signal?: AbortSignal | undefined}): AsyncIterableIterator<RecordingEntry>;
	/** A token that is good for this process and one role only. Needs a server with `processShare`. */
	share(options?: ShareOptions): Promise<ProcessShare>;
	/** Tokens for this process that are good now. Needs a server with `processUnshare`. */
	shares(): Promise<ListedShare[]>;
	/** Revokes the token of a share and ends its connections; false if there is none. Needs a server with `processUnshare`. */
	unshare(shareId: string): Promise<boolean>;
	/** Forgets the process, which has to have ended, with its output on disk. Needs a server with `processSpill`. */
	remove(): Promise<void>;
	/** Calls back for every change of driver, terminal size and audience, until the returned function is called. */
	onChange(listener: (change: ProcessChange) => void): () => void;
}

/** Options of `output`. */
export interface OutputOptions {
	/** Number of an event: only later output. */
	readonly afterSeq?: number | undefined;
}

/** A process that was started. */
export interface StartedProcess {
	readonly process: ProcessHandle;
	/** Undefined if the executor does not report it. */
	readonly sandboxType: SandboxType;
}

/** Options of a start that are not on the wire as they are. */
export interface StartOptions {
	/**
	 * Milliseconds after which the process and everything below it is ended, whatever becomes of the connection: the server
	 * enforces it if it has `processTimeLimit`, this client otherwise.
	 */
	readonly timeout?: number | undefined;
	/** Aborting ends the process, or cancels its start. */
	readonly signal?: AbortSignal | undefined;
	/**
	 * Back-pressure up to the process: the first `events()` or `output()` misses nothing, however slow it is, and the
	 * process waits for it, also while the connection is lost and until the session ends. A server without the capability
	 * `processAcknowledge` keeps output of a lost connection within bounds only, and there the whole connection is paused
	 * while the reader is behind, answers included: use it for one process per connection.
	 */
	readonly backpressure?: boolean | undefined;
}

/** The processes of one machine. */
export interface Processes {
	/** Rejects when the process could not be started, or with the signal's reason when that was aborted first. */
	start(params: StartParams, options?: StartOptions): Promise<StartedProcess>;
	/** The processes of this client's session; with `all`, of all clients. Needs a server with `processList`. */
	list(options?: ListProcessesOptions): Promise<ListedProcess[]>;
	/**
	 * The handle of a process by its id or name: of this client's session, or of another one where the server has
	 * `processAttach`.
	 */
	attach(idOrName: string, options?: AttachProcessOptions): Promise<ProcessHandle>;
	/**
	 * Asks about a process by its id or name without attaching: no events come, and other clients are not told. Whether there
	 * is one shows at the first question.
	 */
	reference(idOrName: string): Promise<UnattachedProcess>;
}

/** Questions about a process that need no events of it. */
export type UnattachedProcess = Pick<
	ProcessHandle,
	'waitFor' | 'screen' | 'logs' | 'logPage' | 'recording' | 'share' | 'shares' | 'unshare' | 'remove'
>;

/** All that running a command needs of the processes of a machine. */
export type ProcessStarter = Pick<Processes, 'start'>;

/** Stream a chunk of output was written to. */
export type {OutputStream};

/** Event of a process, numbered from 1 without gaps. Exit and end of output are two events. */
export type NumberedEvent =
	| {readonly kind: 'output'; readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array}
	| {
			readonly kind: 'exited';
			readonly seq: number;
			readonly exitCode: number;
			/** Undefined if the server does not report it. */
			readonly sandboxDenied: boolean | undefined;
			/** Cause of the exit; `exit` if the process ended by itself. Undefined if the server reports the code only. */
			readonly reason: Params<'process/exited'>['reason'];
	  }
	| {readonly kind: 'closed'; readonly seq: number};

/** Lost events: the server evicted them while the connection was down, or before this client had read them. */
export interface Gap {
	readonly kind: 'gap';
	readonly afterSeq: number;
	readonly throughSeq: number;
	/** Undefined if the server does not report the amount. */
	readonly missedBytes: number | undefined;
}

/** `failed` ends the events of a lost process; it is not an exit. */
export type ProcessEvent = NumberedEvent | Gap | {readonly kind: 'failed'; readonly message: string};

/** Dropped events: the subscriber came late or is slow. A read from `afterSeq` may still have them. */
export interface Lagged {
	readonly kind: 'lagged';
	readonly missed: number;
	readonly afterSeq: number;
}

/** Event of a process, or the notice that a slow subscriber lost some. */
export type StreamEvent = ProcessEvent | Lagged;

/** Size of an event's payload in memory, in bytes. */
export function payloadOf(event: ProcessEvent): number {
	if (event.kind === 'output') return event.bytes.length;
	return event.kind === 'failed' ? event.message.length : 0;
}

/** True if no event can follow this one. */
export function isLast(event: ProcessEvent): boolean {
	return event.kind === 'closed' || event.kind === 'failed';
}
