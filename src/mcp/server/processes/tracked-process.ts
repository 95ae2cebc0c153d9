import type {ExitStatus} from '../../../client/process/process-handle.js';
import type {Screen} from '../../../client/process/shared-process.js';
import type {AwaitedInput} from '../../../client/run/wait-for.js';
import type {OutputExcerpt} from '../answers/output-excerpt.js';
import type {NamedMachine} from '../machines/named-machine.js';
import type {ProcessRights} from './process-rights.js';

/** Conditions that end a wait; the first counts. The exit always does. */
export interface WaitUntil {
	/** Regular expression for output that was not in an answer yet. */
	readonly text?: string | undefined;
	readonly port?: number | undefined;
	readonly silenceMs?: number | undefined;
	/** `sure` leaves out guesses about programs that handle the terminal themselves. */
	readonly input?: 'any' | 'sure' | undefined;
	/** Silence never stands for input, not even where a machine cannot tell that a process waits for it. */
	readonly isPatient?: boolean | undefined;
}

export interface WaitLimits {
	/** Undefined: no limit. */
	readonly ms: number | undefined;
	readonly signal: AbortSignal;
}

/** How a wait ended. Only `exit` is an exit: a machine that cannot be reached is `lost`. */
export type TrackedOutcome =
	| {readonly by: 'exit'; readonly exit: ExitStatus}
	| {readonly by: 'text'; readonly text: string}
	| {readonly by: 'port'; readonly port: number}
	| {readonly by: 'silence'}
	| {readonly by: 'input'; readonly waitingFor: AwaitedInput; readonly isGuess: boolean}
	| {readonly by: 'time'}
	| {readonly by: 'lost'; readonly message: string};

/** Part of the output for `logs`. */
export interface LogRequest {
	/** The last lines, so many. */
	readonly tail?: number | undefined;
	/** First byte. */
	readonly from?: number | undefined;
	/** Lines that match this expression only. */
	readonly grep?: string | undefined;
	readonly maxChars: number;
	readonly signal: AbortSignal;
}

/** How a process was ended. */
export interface StopOutcome {
	readonly wasOver: boolean;
	readonly exitCode: number | undefined;
	readonly survivors: readonly {readonly pid: number; readonly command: string}[];
}

/** A process that tools know by an id. It belongs to its machine and not to a call. */
export interface TrackedProcess {
	/** Id for a model. */
	readonly id: string;
	readonly machine: NamedMachine;
	/** Id on the machine. */
	readonly processId: string;
	readonly isTerminal: boolean;
	/** Checked by `write`, `closeInput` and `stop`. */
	readonly rights: ProcessRights;
	/** Time since the start, up to the exit if that was seen; undefined if it is not known. */
	readonly elapsedMs: number | undefined;
	/** The process runs on in any case. Rejects with the reason of the signal. */
	waitFor(until: WaitUntil, limits: WaitLimits): Promise<TrackedOutcome>;
	/** Output since the last answer; `isEnded` waits a moment for the rest of it. */
	readNew(options: {readonly maxChars: number; readonly isEnded: boolean}): Promise<OutputExcerpt>;
	/** Bytes of output so far, and its last line. */
	progress(): Promise<{readonly bytes: number; readonly lastLine: string}>;
	logs(request: LogRequest): Promise<OutputExcerpt>;
	screen(): Promise<Screen>;
	write(bytes: Uint8Array): Promise<void>;
	/** Ends its input: the pipe, or the end-of-file key of a terminal. */
	closeInput(): Promise<void>;
	/** Signal by name, without `SIG`; undefined asks to end and kills after the time. */
	stop(signal: string | undefined, graceMs: number): Promise<StopOutcome>;
}
