import type {ExitStatus, ProcessHandle} from '../client/process/process-handle.js';
import {Mutex} from '../shared/async/mutex.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {DeltaSplitter} from './delta-splitter.js';
import type {ExecEnvironment} from './exec-environment.js';
import type {ExecEvent, StartFacts} from './exec-events.js';
import {CLOSE_GRACE_MS, MAX_CLOSE_WAIT_MS, MAX_DELTAS, MAX_TRAILING_OUTPUT_MS} from './exec-limits.js';
import {ObservedProcess} from './observed-process.js';

export interface SessionOptions {
	readonly id: number;
	readonly environment: ExecEnvironment;
	readonly handle: ProcessHandle;
	readonly tty: boolean;
	readonly facts: StartFacts;
	readonly closeGraceMs?: number | undefined;
	/** Reports a signal on a terminal as exit code 1, and terminates also processes that have exited. */
	readonly strictCompat?: boolean | undefined;
	readonly emit: (event: ExecEvent) => void;
}

/** Running session, as listed. */
export interface SessionSummary {
	readonly sessionId: number;
	readonly callId: string;
	readonly command: string;
	readonly cwd: string;
	readonly tty: boolean;
	readonly environmentId: string;
}

/** Strict-compat: upstream does not report the signal of a process on a terminal. */
const SIGNAL_EXIT_CODE = 1;

/** Started command, from its begin event to its end event. */
export class ExecSession {
	readonly id: number;
	readonly environment: ExecEnvironment;
	readonly tty: boolean;
	readonly facts: StartFacts;
	readonly process: ObservedProcess;
	/** In the time of `performance.now`. */
	readonly startedAt = performance.now();
	/** Serialises the calls that use the session. */
	readonly mutex = new Mutex();
	/** Serialises writes to stdin: a call may end before its write does. */
	readonly writes = new Mutex();
	/** `starting` while the call that started it waits; `background` once that call has answered with the session id. */
	phase: 'starting' | 'background' = 'starting';
	/** False once the id was released, and may belong to another session. */
	ownsId = true;
	readonly #emit: (event: ExecEvent) => void;
	readonly #strictCompat: boolean;
	readonly #splitter = new DeltaSplitter();
	#deltaCount = 0;
	#isClosed = false;

	constructor({id, environment, handle, tty, facts, closeGraceMs, strictCompat, emit}: SessionOptions) {
		this.id = id;
		this.environment = environment;
		this.tty = tty;
		this.facts = facts;
		this.#emit = emit;
		this.#strictCompat = strictCompat ?? false;
		emit({kind: 'begin', ...facts});
		this.process = new ObservedProcess(handle, {
			closeGraceMs: closeGraceMs ?? CLOSE_GRACE_MS,
			toExitCode: exit => (strictCompat && tty && wasSignalled(exit) ? SIGNAL_EXIT_CODE : exit.exitCode),
			onOutput: bytes => this.#emitOutput(this.#splitter.split(bytes)),
		});
		void this.#emitEndWhenFinished();
	}

	get summary(): SessionSummary {
		const {callId, command, cwd} = this.facts;
		return {sessionId: this.id, callId, command, cwd, tty: this.tty, environmentId: this.environment.id};
	}

	/** Terminates the process and waits for the exit; an unreachable executor terminates it by itself. */
	async terminate(): Promise<void> {
		const isRunning = this.process.state.kind === 'running';
		if (!isRunning && !this.#strictCompat) return;
		try {
			// Background children of a finished command keep running, also where it is terminated as upstream does.
			await this.process.handle.terminate(isRunning ? 'force' : null);
			await waitAtMost(this.process.finished, MAX_CLOSE_WAIT_MS);
		} catch {
			// The executor does not know the process any more, or is unreachable.
		}
	}

	emitInteraction(stdin: string): void {
		const {callId, processId} = this.facts;
		this.#emit({kind: 'interaction', callId, processId, stdin});
	}

	/** Emits the end event; no-op after the first call. */
	emitEnd(): void {
		if (this.#isClosed) return;
		this.#emitOutput(this.#splitter.flush());
		this.#isClosed = true;
		const {state, transcript} = this.process;
		const stdout = new TextDecoder().decode(transcript.markedBytes());
		const rest = {stdout, durationMs: performance.now() - this.startedAt};
		switch (state.kind) {
			case 'failed': {
				const aggregatedOutput = `${stdout}\n${state.message}`;
				const failure = {stderr: state.message, aggregatedOutput, exitCode: -1, status: 'failed'} as const;
				this.#emit({kind: 'end', ...this.facts, ...rest, ...failure});
				break;
			}
			case 'running':
			case 'exited':
			case 'closed': {
				const exitCode = state.kind === 'running' ? -1 : state.exitCode;
				const status = exitCode === 0 ? 'completed' : 'failed';
				this.#emit({kind: 'end', ...this.facts, ...rest, stderr: '', aggregatedOutput: stdout, exitCode, status});
			}
		}
	}

	/** End event of a background command. A call that holds the mutex answers first. */
	async #emitEndWhenFinished(): Promise<void> {
		await this.process.finished;
		if (this.process.state.kind === 'exited') {
			await waitAtMost(
				this.process.handle.closed.catch(() => {}),
				MAX_TRAILING_OUTPUT_MS,
			);
		}
		if (this.#isClosed || this.phase === 'starting') return;
		await this.mutex.run(async () => this.emitEnd());
	}

	#emitOutput(pieces: readonly Uint8Array[]): void {
		const {callId, processId} = this.facts;
		for (const bytes of pieces) {
			if (this.#isClosed || this.#deltaCount >= MAX_DELTAS) return;
			this.#deltaCount++;
			this.#emit({kind: 'outputDelta', callId, processId, stream: 'stdout', bytes});
		}
	}
}

function wasSignalled({reason}: ExitStatus): boolean {
	return reason === 'signal' || reason === 'terminated';
}
