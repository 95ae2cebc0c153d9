import {Deferred} from '../shared/async/deferred.js';
import {LongarmError} from '../shared/errors.js';
import {MAX_TIMER_MS} from '../shared/units.js';
import type {Backend, Child, ChildEvents, KernelExit, SpawnRequest, TerminalSize} from './backends/backend.js';
import {releaseChunk} from './output/chunk-pool.js';
import {type EndReason, OutputLog, type OutputStream, type Retention} from './output/output-log.js';
import {looksDenied, MAX_DENIAL_OUTPUT_WAIT_MS} from './sandbox-denial.js';
import {StdinQueue} from './stdin-queue.js';
import {killOrphansOf, killTree, waitForSurvivors} from './tree/kill-tree.js';
import type {ProcessInfo} from './tree/process-tree.js';
import {findUnclaimedOrphans, type ProcessRoot} from './tree/subreaper.js';

/** Back-pressure: high and low water mark of output the driver has yet to deliver. */
export const PAUSE_ABOVE_BYTES = 256 * 1024;
export const RESUME_BELOW_BYTES = 64 * 1024;
/** High-water marks of output its reader has yet to acknowledge; the low ones are half of them. */
export const MAX_UNACKNOWLEDGED_BYTES = 1024 * 1024;
export const MAX_UNACKNOWLEDGED_CHUNKS = 4096;
/** The same in bytes when all processes together retain much. */
export const TIGHT_UNACKNOWLEDGED_BYTES = 512 * 1024;
/** Grace period between SIGTERM at the time limit and SIGKILL. */
export const TIME_LIMIT_GRACE_MS = 1000;

/** `closed` is exited with every stream at its end; a process that could not be started is `failed` and belongs to no table. */
export type ProcessState =
	| {readonly kind: 'starting'}
	| {readonly kind: 'running'; readonly child: Child}
	| {readonly kind: 'exited'; readonly child: Child; readonly exitCode: number}
	| {readonly kind: 'closed'; readonly leader: ProcessRoot; readonly exitCode: number}
	| {readonly kind: 'failed'; readonly error: LongarmError};

export interface ProcessEvents {
	/** The process has exited; called after the log has recorded it. */
	exited(process: ManagedProcess): void;
	/** Exited and all streams at their end; called after the log has recorded it. */
	closed(process: ManagedProcess): void;
}

export interface ProcessOptions {
	readonly id: string;
	readonly argv: readonly string[];
	readonly tty: boolean;
	readonly retention: Retention;
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
}

/** SIGKILL at once, or SIGTERM first and SIGKILL after the timeout. */
export type TerminationMode = {readonly kind: 'force'} | {readonly kind: 'graceful'; readonly timeoutMs: number};

export interface Termination {
	/** The process was running or starting. */
	readonly running: boolean;
	/** Descendants that outlived it; a promise only when some had left the process group. */
	readonly survivors: readonly ProcessInfo[] | Promise<readonly ProcessInfo[]>;
}

const NOT_RUNNING: Termination = {running: false, survivors: []};
const ENDING: Termination = {running: true, survivors: []};

/** One child from the request to start it until its output is released. */
export class ManagedProcess {
	readonly options: ProcessOptions;
	/** The date; for durations see `ageMs`. */
	readonly startedAt = Date.now();
	readonly #createdAt = performance.now();
	readonly log: OutputLog;
	readonly #events: ProcessEvents;
	readonly #openStreams = new Set<OutputStream>();
	#state: ProcessState = {kind: 'starting'};
	#stdin: StdinQueue | undefined;
	#endReason: EndReason | undefined;
	#isKilled = false;
	/** Set while the exit of a sandboxed process waits for its last output. */
	#reportPendingExit: (() => void) | undefined;
	#timers: NodeJS.Timeout[] = [];
	/** Too much is unacknowledged, until half of it is left: a mark of its own, apart from that of the connection. */
	#waitsForReader = false;
	#pausedAt: number | undefined;
	#pausedMs = 0;
	readonly #start = new Deferred();
	constructor(options: ProcessOptions, events: ProcessEvents) {
		this.options = options;
		this.log = new OutputLog(options.retention, {release: releaseChunk, driverMoved: () => this.#applyBackPressure()});
		if (options.isAcknowledged) this.log.retainUntilAcknowledged();
		this.#events = events;
		// The caller that requested the start handles a rejection; for all others it must not count as unhandled.
		this.started.catch(() => {});
	}

	/** Settles when the process has been spawned, or could not be. */
	get started(): Promise<void> {
		return this.#start.promise;
	}

	get id(): string {
		return this.options.id;
	}

	get state(): ProcessState {
		return this.#state;
	}

	/** Undefined before the process was spawned. */
	get leader(): ProcessRoot | undefined {
		if (this.#state.kind === 'closed') return this.#state.leader;
		return this.#state.kind === 'running' || this.#state.kind === 'exited' ? this.#state.child : undefined;
	}

	get pid(): number | undefined {
		return this.leader?.pid;
	}

	/** Starting or running. */
	get isAlive(): boolean {
		return this.#state.kind === 'starting' || this.#state.kind === 'running';
	}

	/** Time since the start was requested, whatever the clock of the machine was set to meanwhile. */
	get ageMs(): number {
		return performance.now() - this.#createdAt;
	}

	/** Total time the child was paused by back-pressure. */
	get pausedMs(): number {
		return this.#pausedMs + (this.#pausedAt === undefined ? 0 : performance.now() - this.#pausedAt);
	}

	/** No-op if the process was terminated while it waited in the start queue. */
	async spawn(backend: Backend, request: SpawnRequest): Promise<void> {
		if (this.#state.kind !== 'starting') return;
		try {
			const spawned = backend.spawn(request, this.#childEvents());
			this.#attach(spawned instanceof Promise ? await spawned : spawned);
		} catch (error) {
			this.#fail(error as LongarmError);
		}
	}

	#attach(child: Child): void {
		for (const stream of child.streams) this.#openStreams.add(stream);
		if (this.#state.kind !== 'starting') {
			// Cancelled while the backend was spawning.
			child.signal('SIGKILL');
			child.drainAndClose();
			return;
		}
		this.#stdin = child.stdin && new StdinQueue(this.id, child.stdin);
		this.#state = {kind: 'running', child};
		const {timeLimitMs} = this.options;
		if (timeLimitMs !== undefined) this.#setTimer(timeLimitMs, () => this.#handleTimeLimit());
		this.#start.resolve();
	}

	#fail(error: LongarmError): void {
		if (this.#state.kind !== 'starting') return;
		this.#state = {kind: 'failed', error};
		this.#start.reject(error);
	}

	/** False when there is no standard input, or it was closed. */
	get takesInput(): boolean {
		return this.#stdin !== undefined && !this.#stdin.isEnded;
	}

	/** Settles when the bytes are queued for the child. */
	write(bytes: Uint8Array, writeId: string | undefined): void | Promise<void> {
		return this.#stdin?.write(bytes, writeId);
	}

	/** End of input behind what was written so far. */
	closeStdin(): void {
		if (this.takesInput) this.#stdin!.end();
	}

	/** False when there is no terminal. */
	resize(size: TerminalSize): boolean {
		if (!this.options.tty) return false;
		if (this.#state.kind === 'running' || this.#state.kind === 'exited') this.#state.child.resize?.(size);
		return true;
	}

	/** Signals the process group; no-op once the process has exited. */
	signal(name: NodeJS.Signals): void {
		if (this.#state.kind === 'running') this.#state.child.signal(name);
	}

	/** Ends the process and all its descendants. Output still in its streams is kept. */
	terminate(mode: TerminationMode = {kind: 'force'}): Termination {
		if (this.#state.kind === 'starting') {
			this.#fail(new LongarmError('START_CANCELLED', {message: `process ${this.id} start was cancelled`}));
			return ENDING;
		}
		if (this.#state.kind !== 'running') return NOT_RUNNING;
		this.#endReason ??= 'terminated';
		if (mode.kind === 'force') return this.#kill();
		this.#state.child.signal('SIGTERM');
		this.#setTimer(mode.timeoutMs, () => this.#killRemaining());
		return ENDING;
	}

	#kill(): Termination {
		if (this.#state.kind !== 'running') return NOT_RUNNING;
		this.#isKilled = true;
		this.#stdin?.rejectWrites();
		const {child} = this.#state;
		const strays = killTree(child);
		const survivors = waitForSurvivors(child, strays);
		const isCertain = strays.length === 0 && findUnclaimedOrphans(child).length === 0;
		return {running: true, survivors: isCertain ? [] : survivors};
	}

	/** Kills what is left of the tree after the grace period, orphans included. */
	#killRemaining(): void {
		if (this.#state.kind === 'running') this.#kill();
		else if (this.leader) killOrphansOf([this.leader]);
	}

	#handleTimeLimit(): void {
		if (this.#state.kind !== 'running') return;
		this.#endReason ??= 'timeout';
		this.#state.child.signal('SIGTERM');
		this.#setTimer(TIME_LIMIT_GRACE_MS, () => this.#killRemaining());
	}

	#setTimer(ms: number, action: () => void): void {
		this.#timers.push(setTimeout(action, Math.min(ms, MAX_TIMER_MS)).unref());
	}

	#stopTimers(): void {
		for (const timer of this.#timers.splice(0)) clearTimeout(timer);
	}

	/** Closes streams that a descendant still holds open after the process itself has exited. */
	closeStreams(): void {
		if (this.#state.kind === 'exited') this.#state.child.drainAndClose();
	}

	/** Releases timers and the retained output. Call once, after removal from the table. */
	dispose(): void {
		this.#stopTimers();
		this.log.dispose();
	}

	/** Back-pressure: pauses the child while the driver of its log, or the reader that acknowledges, is too far behind. */
	#applyBackPressure(): void {
		if (this.#state.kind !== 'running' && this.#state.kind !== 'exited') return;
		const pending = this.log.driverBacklogBytes;
		const unacknowledged = this.#unacknowledgedShare();
		if (unacknowledged > 1) this.#waitsForReader = true;
		else if (unacknowledged <= 1 / 2) this.#waitsForReader = false;
		if (this.#pausedAt === undefined && (pending > PAUSE_ABOVE_BYTES || this.#waitsForReader)) {
			this.#pausedAt = performance.now();
			this.#state.child.pause();
		} else if (this.#pausedAt !== undefined && pending <= RESUME_BELOW_BYTES && !this.#waitsForReader) {
			this.#pausedMs = this.pausedMs;
			this.#pausedAt = undefined;
			this.#state.child.resume();
		}
	}

	/** Output to be acknowledged, as a share of the most that is retained for it; less when all processes retain much. */
	#unacknowledgedShare(): number {
		const {unacknowledged} = this.log;
		if (!unacknowledged) return 0;
		const isTight = this.options.retention.budget?.isTight === true;
		const maxBytes = isTight ? TIGHT_UNACKNOWLEDGED_BYTES : MAX_UNACKNOWLEDGED_BYTES;
		return Math.max(unacknowledged.bytes / maxBytes, unacknowledged.chunks / MAX_UNACKNOWLEDGED_CHUNKS);
	}

	#childEvents(): ChildEvents {
		return {
			output: (stream, bytes) => {
				this.log.append(stream, bytes);
				this.#applyBackPressure();
			},
			streamEnded: stream => {
				this.#openStreams.delete(stream);
				if (this.#openStreams.size === 0) this.#reportPendingExit?.();
				this.#closeIfEnded();
			},
			// Output that arrived together with the exit is read first: the poll phase ends before this runs.
			exited: exit => {
				setImmediate(() => (this.options.isSandboxed ? this.#reportExitAfterOutput(exit) : this.#reportExit(exit)));
			},
		};
	}

	/** Waits for the last output of a failed sandboxed process: it tells whether the sandbox denied something. */
	#reportExitAfterOutput(exit: KernelExit): void {
		if (exit.exitCode === 0 || this.#isKilled || this.#openStreams.size === 0) {
			this.#reportExit(exit);
			return;
		}
		const timer = setTimeout(() => this.#reportPendingExit?.(), MAX_DENIAL_OUTPUT_WAIT_MS);
		this.#reportPendingExit = () => {
			clearTimeout(timer);
			this.#reportPendingExit = undefined;
			this.#reportExit(exit);
		};
	}

	#reportExit({exitCode, isSignaled}: KernelExit): void {
		if (this.#state.kind !== 'running') return;
		const {child} = this.#state;
		if (this.#endReason === undefined) this.#stopTimers();
		this.#stdin?.discardWrites();
		this.#state = {kind: 'exited', child, exitCode};
		// After a kill the streams are not kept open for descendants that escaped; their output so far is kept.
		if (this.#isKilled) child.drainAndClose();
		const denied = this.options.isSandboxed && {sandboxDenied: looksDenied(exitCode, this.log)};
		this.log.recordExit({exitCode, reason: this.#endReason ?? (isSignaled ? 'signal' : 'exit'), ...denied});
		this.#events.exited(this);
		this.#closeIfEnded();
	}

	#closeIfEnded(): void {
		if (this.#state.kind !== 'exited' || this.#openStreams.size > 0) return;
		this.#pausedMs = this.pausedMs;
		this.#pausedAt = undefined;
		const {child, exitCode} = this.#state;
		this.#state = {kind: 'closed', leader: toRoot(child), exitCode};
		this.log.recordClose();
		this.#events.closed(this);
	}
}

/** Without the streams of the child. */
function toRoot({pid, tag, spawnedAt}: Child): ProcessRoot {
	return {pid, tag, ...(spawnedAt !== undefined && {spawnedAt})};
}
