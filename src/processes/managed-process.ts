import {Deferred} from '../shared/async/deferred.js';
import {LongarmError} from '../shared/errors.js';
import type {HandoffSink} from '../shared/node/handoff-file.js';
import {fromKernelTime, toKernelTime} from '../shared/node/kernel-clock.js';
import {BackPressure} from './back-pressure.js';
import type {Backend, Child, ChildEvents, KernelExit, SpawnRequest, TerminalSize} from './backends/backend.js';
import {loadLog, storeLog} from './handoff/log-record.js';
import {loadChild, loadRoot, loadStdin, type ProcessRecord, storeProcess} from './handoff/process-record.js';
import {releaseChunk} from './output/chunk-pool.js';
import {OutputLog, type OutputStream} from './output/output-log.js';
import {ProcessEnding} from './process-ending.js';
import type {InheritedProcess, ProcessEvents, ProcessOptions, ProcessState} from './process-options.js';
import {type ProcessSharing, UNSHARED} from './process-sharing.js';
import {looksDenied, MAX_DENIAL_OUTPUT_WAIT_MS} from './sandbox-denial.js';
import {TerminalSizes} from './screen/terminal-sizes.js';
import {StdinQueue} from './stdin-queue.js';
import {ENDING, NOT_RUNNING, type Termination, type TerminationMode} from './termination.js';
import {endTree} from './tree/end-tree.js';
import {askOrphansOf} from './tree/kill-tree.js';
import {type ProcessRoot, toProcessRoot} from './tree/subreaper.js';

export type {ProcessEvents, ProcessOptions, ProcessState, Termination, TerminationMode};

/** Grace period between SIGTERM at the time limit and SIGKILL. */
export const TIME_LIMIT_GRACE_MS = 1000;

/** The start of every process that runs: one of its own would be held for as long as it runs. */
const SPAWNED = Promise.resolve();

/** One child from the request to start it until its output is released. */
export class ManagedProcess {
	readonly options: ProcessOptions;
	/** The date; for durations see `ageMs`. */
	readonly startedAt: number;
	readonly #createdAt: number;
	readonly log: OutputLog;
	readonly pressure: BackPressure;
	/** Undefined without a terminal. */
	readonly terminalSizes: TerminalSizes | undefined;
	/** Connections that its events are sent to. */
	deliveryCount = 0;
	readonly #events: ProcessEvents;
	/** Streams of the child that have not ended: its own list until the first has. */
	#openStreams: readonly OutputStream[] = [];
	#state: ProcessState;
	#stdin: StdinQueue | undefined;
	readonly #ending = new ProcessEnding(deadline =>
		deadline === 'timeLimit' ? this.#handleTimeLimit() : this.#killRemaining(),
	);
	/** Set while the exit of a sandboxed process waits for its last output. */
	#reportPendingExit: (() => void) | undefined;
	/** All output has ended, and what a time limit ends is being ended. */
	#isClosing = false;
	/** Reported by the kernel, but not in the log yet. */
	#unreportedExit: KernelExit | undefined;
	/** Undefined once the process was spawned. */
	#start: Deferred | undefined;

	constructor(options: ProcessOptions, events: ProcessEvents, inherited?: InheritedProcess) {
		this.options = options;
		const {restored, spill} = options;
		this.startedAt = inherited?.record.startedAt ?? restored?.startedAt ?? Date.now();
		this.#createdAt = inherited
			? fromKernelTime(inherited.record.createdAt)
			: performance.now() - (restored?.ageMs ?? 0);
		this.#state = restored?.state ?? {kind: 'starting'};
		this.log = new OutputLog(
			options.retention,
			{release: releaseChunk, driverMoved: () => this.#applyBackPressure(), spill, restored: restored?.log},
			inherited && loadLog(inherited.record.log, inherited.source),
		);
		this.pressure = new BackPressure(this.log, options.retention.budget, inherited?.record.pausedMs);
		if (this.#state.kind === 'starting' && !inherited) this.#start = new Deferred();
		spill?.onUnblocked(() => this.#applyBackPressure());
		this.terminalSizes = options.terminalSize && new TerminalSizes(options.terminalSize);
		this.#events = events;
		if (inherited) this.#adopt(inherited);
		else if (options.isAcknowledged) this.log.retainUntilAcknowledged();
		// The caller that requested the start handles a rejection; for all others it must not count as unhandled.
		this.started.catch(() => {});
	}

	/** Settles when the process has been spawned, or could not be. */
	get started(): Promise<void> {
		return this.#start?.promise ?? SPAWNED;
	}

	get id(): string {
		return this.options.id;
	}

	get state(): ProcessState {
		return this.#state;
	}

	/** Undefined before the process was spawned. */
	get leader(): ProcessRoot | undefined {
		if ('leader' in this.#state) return this.#state.leader;
		return 'child' in this.#state ? this.#state.child : undefined;
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

	/** No-op if the process was terminated while it waited in the start queue. */
	async spawn(backend: Backend, request: SpawnRequest): Promise<void> {
		if (this.#state.kind !== 'starting') return;
		try {
			const child = backend.spawn(request, this.#childEvents());
			// A start that is cancelled meanwhile ends the child at once.
			if (child instanceof Promise) this.started.catch(() => child.cancel?.());
			this.#attach(child instanceof Promise ? await child : child);
		} catch (error) {
			this.#fail(error as LongarmError);
		}
	}

	/** For a program that takes the place of this one; undefined for a process that was not started. */
	handOver(sink: HandoffSink): ProcessRecord | undefined {
		const common = storeProcess(this, this.#stdin, sink);
		if (!common) return undefined;
		return {
			...common,
			createdAt: toKernelTime(this.#createdAt),
			...this.#ending.handOver(),
			unreportedExit: this.#unreportedExit,
			log: storeLog(this.log.handOver(), sink),
		};
	}

	#adopt({record, source, backend}: InheritedProcess): void {
		const {phase, stdin, unreportedExit} = record;
		this.#ending.adopt(record);
		if (record.terminalSize) this.terminalSizes?.record(this.log.nextSeq - 1, record.terminalSize);
		// Descendants that were about to be killed may be left of a process that was.
		if (record.isKilled) setImmediate(() => this.#killRemaining());
		if (phase.kind === 'closed') {
			this.#state = {...phase, leader: loadRoot(phase.leader)};
			return;
		}
		const events = this.#childEvents();
		const child = backend.adopt!(loadChild(phase.child, source), events);
		this.#openStreams = child.streams;
		this.#stdin =
			child.stdin && stdin && new StdinQueue(this.id, child.stdin, this.options.input, loadStdin(stdin, source));
		this.#state = {...phase, child};
		this.#applyBackPressure();
		if (unreportedExit) events.exited(unreportedExit);
		else setImmediate(() => this.#closeIfEnded());
	}

	/** Reads nothing from the child until the returned function is called; what it writes stays in the kernel. */
	holdOutput(): () => void {
		return 'child' in this.#state ? this.pressure.hold(this.#state.child) : () => {};
	}

	/** Output may have been taken from the kernel that is not in the log yet; soon over once it is held. */
	get isReadingOutput(): boolean {
		return 'child' in this.#state && this.#state.child.isReading === true;
	}

	#attach(child: Child): void {
		this.#openStreams = child.streams;
		if (this.#state.kind !== 'starting') {
			// Cancelled while the backend was spawning.
			child.signal('SIGKILL');
			child.drainAndClose();
			return;
		}
		this.#stdin = child.stdin && new StdinQueue(this.id, child.stdin, this.options.input);
		this.#state = {kind: 'running', child};
		const {timeLimitMs} = this.options;
		if (timeLimitMs !== undefined) this.#ending.setDeadline('timeLimit', timeLimitMs);
		this.#start?.resolve();
		this.#start = undefined;
	}

	/** Goes on with a child that another program runs. */
	follow(connect: (events: ChildEvents) => Child): void {
		this.#attach(connect(this.#childEvents()));
	}

	/** The program that ran it is gone and did not tell how it ended. Of one that has exited there is no more output. */
	lose(): void {
		this.#openStreams = [];
		this.#closeIfEnded();
		if (this.#state.kind !== 'running') return;
		const leader = toProcessRoot(this.#state.child);
		this.#ending.stopTimers();
		this.#stdin?.discardWrites();
		this.#state = {kind: 'lost', leader};
		this.log.recordLoss();
		this.#events.lost?.(this);
	}

	#fail(error: LongarmError): void {
		if (this.#state.kind !== 'starting') return;
		this.#state = {kind: 'failed', error};
		this.#start?.reject(error);
	}

	/** False when there is no standard input, or it was closed. */
	get takesInput(): boolean {
		return this.#stdin !== undefined && !this.#stdin.isEnded;
	}

	/** Whether bytes that are written now would get lost. */
	losesInput(writeId: string | undefined): boolean {
		return this.#stdin?.loses(writeId) !== false;
	}

	get sharing(): ProcessSharing {
		return this.options.sharing ?? UNSHARED;
	}

	/** Undefined without a terminal. */
	get terminalSize(): TerminalSize | undefined {
		return this.terminalSizes?.current;
	}

	/** Settles when the bytes are queued for the child. */
	write(bytes: Uint8Array, writeId: string | undefined): void | Promise<void> {
		if (this.options.recordsInput) this.#recordInput(bytes);
		return this.#stdin?.write(bytes, writeId);
	}

	/** End of input behind what was written so far. */
	closeStdin(): void {
		if (this.takesInput) this.#stdin!.end();
	}

	/** False when there is no terminal. */
	resize(size: TerminalSize): boolean {
		if (!this.options.tty) return false;
		if ('child' in this.#state) {
			this.#state.child.resize?.(size);
			this.terminalSizes?.record(this.log.nextSeq - 1, size);
			this.options.spill?.recordResize(size.rows, size.columns);
		}
		return true;
	}

	/** Not while the terminal does not show what is typed, or that is not known: it may be a password. */
	#recordInput(bytes: Uint8Array): void {
		const source = this.#state.kind === 'running' ? this.#state.child.inputProbe?.() : undefined;
		if (!source || (source.kind === 'terminal' && !source.isEchoing)) return;
		this.options.spill?.recordInput(bytes);
	}

	/** Signals the process group; no-op after the exit. */
	signal(name: NodeJS.Signals): void {
		if (this.#state.kind === 'running') this.#state.child.signal(name);
	}

	/** Asks the process to end; no-op once it has exited. */
	askToEnd(): void {
		const child = this.#state.kind === 'running' ? this.#state.child : undefined;
		if (child?.askToEnd) child.askToEnd();
		else child?.signal('SIGTERM');
	}

	/** Ends the process and all its descendants, keeping its output; after its exit only with a mode, which upstream has not. */
	terminate(given?: TerminationMode): Termination {
		if (this.#state.kind === 'starting') {
			this.#fail(new LongarmError('START_CANCELLED', {message: `process ${this.id} start was cancelled`}));
			return ENDING;
		}
		if (this.#state.kind !== 'running') return given ? this.#endLeftovers(given) : NOT_RUNNING;
		const mode = given ?? {kind: 'force'};
		const {child} = this.#state;
		if (child.endTree) return {running: true, survivors: child.endTree(mode)};
		this.#ending.reason ??= 'terminated';
		if (mode.kind === 'force') return this.#kill(mode.withinMs);
		this.askToEnd();
		this.#ending.setDeadline('lastChance', mode.timeoutMs);
		return ENDING;
	}

	#kill(withinMs?: number): Termination {
		if (this.#state.kind !== 'running') return NOT_RUNNING;
		this.#ending.isKilled = true;
		this.#stdin?.rejectWrites();
		return {running: true, survivors: endTree(this.#state.child, withinMs)};
	}

	/** Ends what an exited process has left behind, and closes its streams. Its exit stays as the kernel reported it. */
	#endLeftovers(mode: TerminationMode): Termination {
		if (this.#state.kind === 'exited') return this.#ending.endLeftovers(this.#state.child, mode, this.#state.child);
		// The ids of a process of an earlier server may be those of others now.
		if (this.#state.kind !== 'closed' || this.options.restored) return NOT_RUNNING;
		return this.#ending.endLeftovers(this.#state.leader, mode);
	}

	/** Kills what is left of the tree after the grace period, orphans included. */
	#killRemaining(): void {
		if (this.#state.kind === 'running') this.#kill();
		else this.#endLeftovers({kind: 'force'});
	}

	#handleTimeLimit(): void {
		this.#ending.reason ??= 'timeout';
		if (this.#state.kind === 'running') {
			this.askToEnd();
			this.#ending.setDeadline('lastChance', TIME_LIMIT_GRACE_MS);
		} else this.#endLeftovers({kind: 'graceful', timeoutMs: TIME_LIMIT_GRACE_MS});
	}

	/** Closes streams that a descendant still holds open after the process itself has exited. */
	closeStreams(): void {
		if (this.#state.kind === 'exited') this.#state.child.drainAndClose();
	}

	/** Releases timers and the retained output. Call once, after removal from the table. */
	dispose(): void {
		this.#ending.stopTimers();
		this.log.dispose();
		this.options.spill?.close();
	}

	/** Pauses or resumes the child as its readers and the disk demand. */
	#applyBackPressure(): void {
		if ('child' in this.#state) this.pressure.apply(this.#state.child);
	}

	#childEvents(): ChildEvents {
		return {
			output: (stream, bytes) => {
				this.log.append(stream, bytes);
				this.#applyBackPressure();
			},
			streamEnded: stream => {
				this.#openStreams = this.#openStreams.filter(each => each !== stream);
				if (this.#openStreams.length === 0) this.#reportPendingExit?.();
				this.#closeIfEnded();
			},
			// Output that arrived together with the exit is read first: the poll phase ends before this runs.
			exited: exit => {
				// Told in the order of the numbers that the events have there.
				if (exit.told) return this.#reportExit(exit);
				this.#unreportedExit = exit;
				setImmediate(() => (this.options.isSandboxed ? this.#reportExitAfterOutput(exit) : this.#reportExit(exit)));
			},
		};
	}

	/** Waits for the last output of a failed sandboxed process: it tells whether the sandbox denied something. */
	#reportExitAfterOutput(exit: KernelExit): void {
		if (exit.exitCode === 0 || this.#ending.isKilled || this.#openStreams.length === 0) {
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

	#reportExit({exitCode, isSignaled, told}: KernelExit): void {
		if (this.#state.kind !== 'running') return;
		const {child} = this.#state;
		this.#unreportedExit = undefined;
		this.#stdin?.discardWrites();
		this.#state = {kind: 'exited', child, exitCode};
		// After a kill the streams are not kept open for descendants that escaped; their output so far is kept.
		if (this.#ending.isKilled) child.drainAndClose();
		// The process group was asked already; descendants that left it end no later than the others.
		else if (this.#ending.reason !== undefined && this.#openStreams.length > 0)
			askOrphansOf(child, {outsideGroup: true});
		const denied = this.options.isSandboxed && {sandboxDenied: looksDenied(exitCode, this.log)};
		const reason = this.#ending.reason ?? (isSignaled ? 'signal' : 'exit');
		this.log.recordExit(told ? {exitCode, ...told} : {exitCode, reason, ...denied});
		this.#events.exited(this);
		this.#applyBackPressure();
		this.#closeIfEnded();
	}

	#closeIfEnded(): void {
		if (this.#state.kind !== 'exited' || this.#openStreams.length > 0 || this.#isClosing) return;
		this.#isClosing = true;
		this.pressure.end();
		// The time limit holds until here: descendants may run on after the exit. A grace period is for those that hold no stream.
		if (this.#ending.reason === undefined) this.#ending.stopTimers();
		// Nothing may run on after the end of a process that took too long was reported.
		const survivors = this.#ending.reason === 'timeout' ? this.#endLeftovers({kind: 'force'}).survivors : [];
		const close = (): void => this.#close();
		if (survivors instanceof Promise) void survivors.then(close, close);
		else close();
	}

	#close(): void {
		if (this.#state.kind !== 'exited') return;
		this.#state = {kind: 'closed', leader: toProcessRoot(this.#state.child), exitCode: this.#state.exitCode};
		this.log.recordClose();
		this.#events.closed(this);
	}
}
