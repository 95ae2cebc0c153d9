import {LongarmError} from '../shared/errors.js';
import type {Backend, Child, ChildEvents, SpawnRequest} from './backend.js';
import {releaseChunk} from './chunk-memory.js';
import {type LogCursor, OutputLog, type OutputStream, type Retention} from './output-log.js';
import {Stdin} from './stdin.js';

/** Output a connection has yet to take before the child is paused, and where it goes on. */
export const PAUSE_ABOVE_BYTES = 256 * 1024;
export const RESUME_BELOW_BYTES = 64 * 1024;

/** `closed` is exited with every stream at its end; a process that could not be started is `failed` and belongs to no table. */
export type ProcessState =
	| {readonly kind: 'starting'}
	| {readonly kind: 'running'; readonly child: Child}
	| {readonly kind: 'exited'; readonly child: Child; readonly exitCode: number}
	| {readonly kind: 'closed'; readonly exitCode: number}
	| {readonly kind: 'failed'; readonly error: LongarmError};

export interface ProcessEvents {
	/** The log has something new. */
	changed(process: ManagedProcess): void;
	/** Exited and all streams at their end; comes after the `changed` that tells of it. */
	closed(process: ManagedProcess): void;
}

/** One child from the request to start it until its output is forgotten. */
export class ManagedProcess {
	readonly id: string;
	readonly log: OutputLog;
	readonly #events: ProcessEvents;
	readonly #openStreams = new Set<OutputStream>();
	#state: ProcessState = {kind: 'starting'};
	#stdin: Stdin | undefined;
	#terminated = false;
	#cursor: LogCursor | undefined;
	#paused = false;
	readonly started: Promise<void>;
	#settleStart!: {resolve: () => void; reject: (error: LongarmError) => void};

	constructor(id: string, retention: Retention, events: ProcessEvents) {
		this.id = id;
		this.log = new OutputLog(retention, releaseChunk);
		this.#events = events;
		this.started = new Promise((resolve, reject) => {
			this.#settleStart = {resolve, reject};
		});
		// Whoever asked for the start learns of the failure; others may have nothing to wait for.
		this.started.catch(() => {});
	}

	get state(): ProcessState {
		return this.#state;
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
		this.#stdin = child.stdin && new Stdin(this.id, child.stdin);
		this.#state = {kind: 'running', child};
		this.#settleStart.resolve();
	}

	#fail(error: LongarmError): void {
		if (this.#state.kind !== 'starting') return;
		this.#state = {kind: 'failed', error};
		this.#settleStart.reject(error);
	}

	/** False when the process was started without a standard input. */
	get hasStdin(): boolean {
		return this.#stdin !== undefined;
	}

	/** Settles when the bytes are queued for the child. */
	write(bytes: Uint8Array, writeId: string | undefined): void | Promise<void> {
		return this.#stdin?.write(bytes, writeId);
	}

	/** To the process group; nothing happens once the process has ended. */
	signal(name: NodeJS.Signals): void {
		if (this.#state.kind === 'running') this.#state.child.signal(name);
	}

	/** Kills the process group; true if the process was running or starting. What the pipes still hold is kept. */
	terminate(): boolean {
		if (this.#state.kind === 'starting') {
			this.#fail(new LongarmError('START_CANCELLED', {message: `process ${this.id} start was cancelled`}));
			return true;
		}
		if (this.#state.kind !== 'running') return false;
		this.#terminated = true;
		this.#stdin?.terminated();
		this.#state.child.signal('SIGKILL');
		return true;
	}

	/** Lets go of streams that some descendant still holds, after the process itself has ended. */
	abandon(): void {
		if (this.#state.kind === 'exited') this.#state.child.finish();
	}

	/** Starts delivery at the present end of the log; from now on unread output pauses the child. */
	attach(): LogCursor {
		this.#cursor = this.log.attach();
		this.#balance();
		return this.#cursor;
	}

	/** Nobody takes delivery any more: the child runs on within retention. */
	detach(): void {
		this.log.detach();
		this.#cursor = undefined;
		this.#balance();
	}

	/** To be called after the cursor moved. */
	delivered(): void {
		this.log.trim();
		this.#balance();
	}

	#balance(): void {
		if (this.#state.kind !== 'running' && this.#state.kind !== 'exited') return;
		const pending = this.#cursor?.pendingBytes ?? 0;
		if (!this.#paused && pending > PAUSE_ABOVE_BYTES) {
			this.#paused = true;
			this.#state.child.pause();
		} else if (this.#paused && pending <= RESUME_BELOW_BYTES) {
			this.#paused = false;
			this.#state.child.resume();
		}
	}

	#childEvents(): ChildEvents {
		return {
			output: (stream, bytes) => {
				this.log.append(stream, bytes);
				this.#events.changed(this);
				this.#balance();
			},
			ended: stream => {
				this.#openStreams.delete(stream);
				this.#closeIfOver();
			},
			// Output that arrived together with the news of the exit is taken first: the poll phase ends before this runs.
			exited: exitCode => {
				setImmediate(() => this.#exited(exitCode));
			},
		};
	}

	#exited(exitCode: number): void {
		if (this.#state.kind !== 'running') return;
		const {child} = this.#state;
		this.#stdin?.exited();
		this.#state = {kind: 'exited', child, exitCode};
		// After a terminate nobody waits for descendants that escaped the group; what they have said so far is kept.
		if (this.#terminated) child.finish();
		this.log.recordExit(exitCode);
		this.#events.changed(this);
		this.#closeIfOver();
	}

	#closeIfOver(): void {
		if (this.#state.kind !== 'exited' || this.#openStreams.size > 0) return;
		this.#state = {kind: 'closed', exitCode: this.#state.exitCode};
		this.log.recordClose();
		this.#events.changed(this);
		this.#events.closed(this);
	}
}
