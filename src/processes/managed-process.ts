import {LongarmError} from '../shared/errors.js';
import {MAX_TIMER_MS} from '../shared/units.js';
import type {Backend, Child, ChildEvents, KernelExit, SpawnRequest, TerminalSize} from './backends/backend.js';
import {releaseChunk} from './output/chunk-pool.js';
import {type EndReason, OutputLog, type OutputStream, type Retention} from './output/output-log.js';
import {DENIAL_OUTPUT_WAIT_MS, looksDenied} from './sandbox-denial.js';
import {StdinQueue} from './stdin-queue.js';
import {killOrphansOf, killTree, survivorsOf} from './tree/kill-tree.js';
import type {ProcessInfo} from './tree/process-tree.js';
import type {ProcessRoot} from './tree/subreaper.js';

/** Output the driver has yet to deliver before the child is paused, and where it is resumed. */
export const PAUSE_ABOVE_BYTES = 256 * 1024;
export const RESUME_BELOW_BYTES = 64 * 1024;
/** A process at its time limit is asked to end; this much later it is killed. */
export const TIME_LIMIT_GRACE_MS = 1000;

/** `closed` is exited with every stream at its end; a process that could not be started is `failed` and belongs to no table. */
export type ProcessState =
	| {readonly kind: 'starting'}
	| {readonly kind: 'running'; readonly child: Child}
	| {readonly kind: 'exited'; readonly child: Child; readonly exitCode: number}
	| {readonly kind: 'closed'; readonly leader: ProcessRoot; readonly exitCode: number}
	| {readonly kind: 'failed'; readonly error: LongarmError};

export interface ProcessEvents {
	/** The kernel has reported the end; called after the log has recorded it. */
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
	/** How long the process outlives the connection of its session; undefined leaves it to the session. */
	readonly keepDetachedMs: number | undefined;
	/** Whether a failure may be the sandbox's doing. */
	readonly sandboxed?: boolean;
}

/** Killed at once, or asked to end and killed after the time. */
export type TerminationMode = {readonly kind: 'force'} | {readonly kind: 'graceful'; readonly timeoutMs: number};

export interface Termination {
	/** The process was running or starting. */
	readonly running: boolean;
	/** What outlived it; only settled by looking when something had left the process group. */
	readonly survivors: readonly ProcessInfo[] | Promise<readonly ProcessInfo[]>;
}

const NOT_RUNNING: Termination = {running: false, survivors: []};
const ENDING: Termination = {running: true, survivors: []};

/** One child from the request to start it until its output is forgotten. */
export class ManagedProcess {
	readonly options: ProcessOptions;
	readonly startedAt = Date.now();
	readonly log: OutputLog;
	readonly #events: ProcessEvents;
	readonly #openStreams = new Set<OutputStream>();
	#state: ProcessState = {kind: 'starting'};
	#stdin: StdinQueue | undefined;
	#ending: EndReason | undefined;
	#killed = false;
	/** Set while a process that has ended waits for its last words. */
	#judge: (() => void) | undefined;
	#timers: NodeJS.Timeout[] = [];
	#pausedAt: number | undefined;
	#pausedMs = 0;
	readonly started: Promise<void>;
	#settleStart!: {resolve: () => void; reject: (error: LongarmError) => void};

	constructor(options: ProcessOptions, events: ProcessEvents) {
		this.options = options;
		this.log = new OutputLog(options.retention, {release: releaseChunk, driverMoved: () => this.#balance()});
		this.#events = events;
		this.started = new Promise((resolve, reject) => {
			this.#settleStart = {resolve, reject};
		});
		// Whoever asked for the start learns of the failure; others may have nothing to wait for.
		this.started.catch(() => {});
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
	get alive(): boolean {
		return this.#state.kind === 'starting' || this.#state.kind === 'running';
	}

	/** How long a reader has kept the child waiting, in all. */
	get pausedMs(): number {
		return this.#pausedMs + (this.#pausedAt === undefined ? 0 : performance.now() - this.#pausedAt);
	}

	/** Does nothing if the process was terminated while it waited for its turn. */
	async spawn(backend: Backend, request: SpawnRequest): Promise<void> {
		if (this.#state.kind !== 'starting') return;
		try {
			const spawned = backend.spawn(request, this.#childEvents());
			this.#adopt(spawned instanceof Promise ? await spawned : spawned);
		} catch (error) {
			this.#fail(error as LongarmError);
		}
	}

	#adopt(child: Child): void {
		for (const stream of child.streams) this.#openStreams.add(stream);
		if (this.#state.kind !== 'starting') {
			// Cancelled while the backend was still at it.
			child.signal('SIGKILL');
			child.finish();
			return;
		}
		this.#stdin = child.stdin && new StdinQueue(this.id, child.stdin);
		this.#state = {kind: 'running', child};
		const {timeLimitMs} = this.options;
		if (timeLimitMs !== undefined) this.#after(timeLimitMs, () => this.#reachTimeLimit());
		this.#settleStart.resolve();
	}

	#fail(error: LongarmError): void {
		if (this.#state.kind !== 'starting') return;
		this.#state = {kind: 'failed', error};
		this.#settleStart.reject(error);
	}

	/** False when there is no standard input, or its end was announced. */
	get takesInput(): boolean {
		return this.#stdin !== undefined && !this.#stdin.ended;
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

	/** To the process group; nothing happens once the process has ended. */
	signal(name: NodeJS.Signals): void {
		if (this.#state.kind === 'running') this.#state.child.signal(name);
	}

	/** Ends the process and everything below it. What its streams still hold is kept. */
	terminate(mode: TerminationMode = {kind: 'force'}): Termination {
		if (this.#state.kind === 'starting') {
			this.#fail(new LongarmError('START_CANCELLED', {message: `process ${this.id} start was cancelled`}));
			return ENDING;
		}
		if (this.#state.kind !== 'running') return NOT_RUNNING;
		this.#ending ??= 'terminated';
		if (mode.kind === 'force') return this.#kill();
		this.#state.child.signal('SIGTERM');
		this.#after(mode.timeoutMs, () => this.#endRest());
		return ENDING;
	}

	#kill(): Termination {
		if (this.#state.kind !== 'running') return NOT_RUNNING;
		this.#killed = true;
		this.#stdin?.terminated();
		const {child} = this.#state;
		const strays = killTree(child);
		const survivors = survivorsOf(child, strays);
		return {running: true, survivors: strays.length === 0 ? [] : survivors};
	}

	/** The time of a tree that was asked to end is over, of those its leader left behind, too. */
	#endRest(): void {
		if (this.#state.kind === 'running') this.#kill();
		else if (this.leader) killOrphansOf([this.leader]);
	}

	#reachTimeLimit(): void {
		if (this.#state.kind !== 'running') return;
		this.#ending ??= 'timeout';
		this.#state.child.signal('SIGTERM');
		this.#after(TIME_LIMIT_GRACE_MS, () => this.#endRest());
	}

	#after(ms: number, action: () => void): void {
		this.#timers.push(setTimeout(action, Math.min(ms, MAX_TIMER_MS)).unref());
	}

	#stopTimers(): void {
		for (const timer of this.#timers.splice(0)) clearTimeout(timer);
	}

	/** Lets go of streams that some descendant still holds, after the process itself has ended. */
	abandon(): void {
		if (this.#state.kind === 'exited') this.#state.child.finish();
	}

	/** Releases timers and the retained output. Call once, after removal from the table. */
	dispose(): void {
		this.#stopTimers();
		this.log.dispose();
	}

	/** Back-pressure: pauses the child while the driver of its log is too far behind. */
	#balance(): void {
		if (this.#state.kind !== 'running' && this.#state.kind !== 'exited') return;
		const pending = this.log.driverBacklogBytes;
		if (this.#pausedAt === undefined && pending > PAUSE_ABOVE_BYTES) {
			this.#pausedAt = performance.now();
			this.#state.child.pause();
		} else if (this.#pausedAt !== undefined && pending <= RESUME_BELOW_BYTES) {
			this.#pausedMs = this.pausedMs;
			this.#pausedAt = undefined;
			this.#state.child.resume();
		}
	}

	#childEvents(): ChildEvents {
		return {
			output: (stream, bytes) => {
				this.log.append(stream, bytes);
				this.#balance();
			},
			ended: stream => {
				this.#openStreams.delete(stream);
				if (this.#openStreams.size === 0) this.#judge?.();
				this.#closeIfOver();
			},
			// Output that arrived together with the news of the exit is taken first: the poll phase ends before this runs.
			exited: end => {
				setImmediate(() => (this.options.sandboxed ? this.#judgeSoon(end) : this.#exited(end)));
			},
		};
	}

	/** What a sandboxed process failed of is in its last words, which may be a moment behind. */
	#judgeSoon(end: KernelExit): void {
		if (end.exitCode === 0 || this.#killed || this.#openStreams.size === 0) {
			this.#exited(end);
			return;
		}
		const timer = setTimeout(() => this.#judge?.(), DENIAL_OUTPUT_WAIT_MS);
		this.#judge = () => {
			clearTimeout(timer);
			this.#judge = undefined;
			this.#exited(end);
		};
	}

	#exited({exitCode, signaled}: KernelExit): void {
		if (this.#state.kind !== 'running') return;
		const {child} = this.#state;
		if (this.#ending === undefined) this.#stopTimers();
		this.#stdin?.exited();
		this.#state = {kind: 'exited', child, exitCode};
		// After a kill nobody waits for descendants that escaped; what they have said so far is kept.
		if (this.#killed) child.finish();
		const denied = this.options.sandboxed && {sandboxDenied: looksDenied(exitCode, this.log)};
		this.log.recordExit({exitCode, reason: this.#ending ?? (signaled ? 'signal' : 'exit'), ...denied});
		this.#events.exited(this);
		this.#closeIfOver();
	}

	#closeIfOver(): void {
		if (this.#state.kind !== 'exited' || this.#openStreams.size > 0) return;
		this.#pausedMs = this.pausedMs;
		this.#pausedAt = undefined;
		const {child, exitCode} = this.#state;
		this.#state = {kind: 'closed', leader: {pid: child.pid, tag: child.tag}, exitCode};
		this.log.recordClose();
		this.#events.closed(this);
	}
}
