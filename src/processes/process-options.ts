import type {LongarmError} from '../shared/errors.js';
import type {HandoffSource} from '../shared/node/handoff-file.js';
import type {Backend, Child, TerminalSize} from './backends/backend.js';
import type {ProcessRecord} from './handoff/process-record.js';
import type {InputBudget} from './input-budget.js';
import type {ManagedProcess} from './managed-process.js';
import type {RestoredLog, Retention} from './output/output-log.js';
import type {KeptOutput} from './output/output-spill.js';
import type {ProcessSharing} from './process-sharing.js';
import type {ProcessRoot} from './tree/subreaper.js';

/** `closed` is exited with every stream at its end; a process that could not be started is `failed` and belongs to no table. */
export type ProcessState =
	| {readonly kind: 'starting'}
	| {readonly kind: 'running'; readonly child: Child}
	| {readonly kind: 'exited'; readonly child: Child; readonly exitCode: number}
	| {readonly kind: 'closed'; readonly leader: ProcessRoot; readonly exitCode: number}
	| {readonly kind: 'failed'; readonly error: LongarmError}
	/** It went down with the program that ran it: how it ended is not known. */
	| {readonly kind: 'lost'; readonly leader: ProcessRoot | undefined};

export interface ProcessEvents {
	/** The process has exited; called after the log has recorded it. */
	exited(process: ManagedProcess): void;
	/** Exited and all streams at their end; called after the log has recorded it. */
	closed(process: ManagedProcess): void;
	/** Its end is not known; called in place of both, after the log has recorded it. */
	lost?(process: ManagedProcess): void;
}

export interface ProcessOptions {
	readonly id: string;
	readonly argv: readonly string[];
	readonly tty: boolean;
	readonly retention: Retention;
	/** Bounds its unread input together with that of others; its own alone without it. */
	readonly input?: InputBudget | undefined;
	/** The process is ended after this time. */
	readonly timeLimitMs: number | undefined;
	/** Time the process outlives the connection of its session; undefined leaves it to the session. */
	readonly keepDetachedMs: number | undefined;
	/** Output is retained until its reader acknowledges it, and the child paused when that is too much. */
	readonly isAcknowledged?: boolean;
	/** Runs in a sandbox, so that a failure may be a denial. */
	readonly isSandboxed?: boolean;
	/** Runs in a sandbox that has the network of this machine. */
	readonly isSandboxedWithNetwork?: boolean;
	/** How other clients find and use it. */
	readonly sharing?: ProcessSharing;
	/** Name of the token that started it; undefined without tokens. */
	readonly owner?: string | undefined;
	/** It outlives its session, and its keeper the server. */
	readonly isDurable?: boolean;
	/** Size of its terminal at the start. */
	readonly terminalSize?: TerminalSize | undefined;
	/** Keeps its output on disk. */
	readonly spill?: KeptOutput | undefined;
	/** Input that the terminal shows is recorded, too. */
	readonly recordsInput?: boolean;
	/** Facts about a process that was not started here. */
	readonly restored?: RestoredProcess | undefined;
}

/** A process that ended before, or is run by another program. */
export interface RestoredProcess {
	/** The date, and the time since. */
	readonly startedAt: number;
	readonly ageMs: number;
	readonly generation: string;
	readonly log: RestoredLog;
	/** Its state from the beginning; `starting` for one that another program runs. */
	readonly state: Extract<ProcessState, {kind: 'closed' | 'lost' | 'starting'}>;
}

/** A process of the program that this one has taken the place of. */
export interface InheritedProcess {
	readonly record: ProcessRecord;
	readonly source: HandoffSource;
	readonly backend: Backend;
}
