import type {ExitStatus, ProcessHandle} from '../client/process/process-handle.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {DeltaSplitter} from './delta-splitter.js';
import type {ExecEnvironment} from './exec-environment.js';
import type {ExecEvent, StartFacts} from './exec-events.js';
import {CLOSE_GRACE_MS, CLOSE_WAIT_MS, MAX_DELTAS, TRAILING_OUTPUT_MS} from './exec-limits.js';
import {InteractionLock} from './interaction-lock.js';
import {ObservedProcess} from './observed-process.js';

export interface SessionOptions {
	readonly id: number;
	readonly environment: ExecEnvironment;
	readonly handle: ProcessHandle;
	readonly tty: boolean;
	readonly facts: StartFacts;
	readonly closeGraceMs?: number | undefined;
	/** Reports a signal on a terminal as the exit code 1, and ends also what has ended. */
	readonly strictCompat?: boolean | undefined;
	readonly emit: (event: ExecEvent) => void;
}

/** A session that runs, for lists. */
export interface SessionSummary {
	readonly sessionId: number;
	readonly callId: string;
	readonly command: string;
	readonly cwd: string;
	readonly tty: boolean;
	readonly environmentId: string;
}

/** The peers' terminals do not tell which signal it was. */
const SIGNAL_ON_TERMINAL = 1;

/** A command that was started, from its begin event to its end event. */
export class ExecSession {
	readonly id: number;
	readonly environment: ExecEnvironment;
	readonly tty: boolean;
	readonly facts: StartFacts;
	readonly process: ObservedProcess;
	/** On the clock of `performance.now`. */
	readonly startedAt = performance.now();
	readonly lock = new InteractionLock();
	/** Whether the call that started it still waits for it, or it has been given a number to ask with. */
	phase: 'starting' | 'background' = 'starting';
	/** Whether its number is its own still, and not given to another one. */
	hasNumber = true;
	/** Settles when earlier input was taken. */
	lastWrite: Promise<unknown> = Promise.resolve();
	readonly #emit: (event: ExecEvent) => void;
	readonly #strictCompat: boolean;
	readonly #splitter = new DeltaSplitter();
	#deltas = 0;
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
			exitCodeOf: exit => (strictCompat && tty && wasSignalled(exit) ? SIGNAL_ON_TERMINAL : exit.exitCode),
			onOutput: bytes => this.#tellOutput(this.#splitter.split(bytes)),
		});
		void this.#watchEnd();
	}

	get summary(): SessionSummary {
		const {callId, command, cwd} = this.facts;
		return {sessionId: this.id, callId, command, cwd, tty: this.tty, environmentId: this.environment.id};
	}

	/** Ends what runs, and waits until that is known; an executor that cannot be reached ends it by itself. */
	async terminate(): Promise<void> {
		if (this.process.life.kind !== 'running' && !this.#strictCompat) return;
		try {
			await this.process.handle.terminate();
			await waitAtMost(this.process.finished, CLOSE_WAIT_MS);
		} catch {
			// It is not known there any more, or nobody is there to ask.
		}
	}

	interacted(stdin: string): void {
		const {callId, processId} = this.facts;
		this.#emit({kind: 'interaction', callId, processId, stdin});
	}

	/** Tells the end, once. */
	end(): void {
		if (this.#isClosed) return;
		this.#tellOutput(this.#splitter.flush());
		this.#isClosed = true;
		const {life, transcript} = this.process;
		const stdout = new TextDecoder().decode(transcript.markedBytes());
		const rest = {stdout, durationMs: performance.now() - this.startedAt};
		switch (life.kind) {
			case 'failed': {
				const aggregatedOutput = `${stdout}\n${life.message}`;
				const failure = {stderr: life.message, aggregatedOutput, exitCode: -1, status: 'failed'} as const;
				this.#emit({kind: 'end', ...this.facts, ...rest, ...failure});
				break;
			}
			case 'running':
			case 'exited':
			case 'closed': {
				const exitCode = life.kind === 'running' ? -1 : life.exitCode;
				const status = exitCode === 0 ? 'completed' : 'failed';
				this.#emit({kind: 'end', ...this.facts, ...rest, stderr: '', aggregatedOutput: stdout, exitCode, status});
			}
		}
	}

	/** For a command that ends while nobody asks. Who asks at the time is answered first. */
	async #watchEnd(): Promise<void> {
		await this.process.finished;
		if (this.process.life.kind === 'exited') {
			await waitAtMost(
				this.process.handle.closed.catch(() => {}),
				TRAILING_OUTPUT_MS,
			);
		}
		if (this.#isClosed || this.phase === 'starting') return;
		await this.lock.run(async () => this.end());
	}

	#tellOutput(pieces: readonly Uint8Array[]): void {
		const {callId, processId} = this.facts;
		for (const bytes of pieces) {
			if (this.#isClosed || this.#deltas >= MAX_DELTAS) return;
			this.#deltas++;
			this.#emit({kind: 'outputDelta', callId, processId, stream: 'stdout', bytes});
		}
	}
}

function wasSignalled({reason}: ExitStatus): boolean {
	return reason === 'signal' || reason === 'terminated';
}
