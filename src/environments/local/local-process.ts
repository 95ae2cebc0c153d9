import {noTerminal, toSignal, toTerminateMode} from '../../adapters/process-params.js';
import {BaseProcess} from '../../client/process/base-process.js';
import type {Brake} from '../../client/process/held-events.js';
import type {
	ReadOptions,
	ReadResult,
	Signal,
	TerminateMode,
	TerminateResult,
	WriteResult,
} from '../../client/process/process-handle.js';
import type {ProcessStory} from '../../client/process/process-story.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {Chunk, LogCursor, LogEvent, OutputPage} from '../../processes/output/output-log.js';
import {readOutput} from '../../processes/output/read-output.js';
import {Scope} from '../../shared/async/scope.js';
import {asRejection} from './as-rejection.js';

/** Every wait for output ends with the process, which ends with its environment. */
const ENDLESS = new Scope();

/** A process of this program's own machine, without any wire in between. */
export class LocalProcess extends BaseProcess {
	readonly #process: ManagedProcess;
	readonly #cursor: LogCursor;
	readonly #gate: Gate;
	#writes = 0;

	constructor(process: ManagedProcess, {holdsBack = false}: {holdsBack?: boolean} = {}) {
		const gate = new Gate(() => this.changed());
		super(process.id, holdsBack ? gate : undefined);
		this.#gate = gate;
		this.#process = process;
		this.#cursor = process.attach();
	}

	async read({afterSeq, maxBytes, waitMs}: ReadOptions = {}): Promise<ReadResult> {
		const request = {afterSeq: afterSeq ?? 0, maxBytes: maxBytes ?? undefined, waitMs: waitMs ?? 0};
		return readOutput(this.#process.log, request, ENDLESS, page => this.#toResult(page));
	}

	async write(bytes: Uint8Array | string): Promise<WriteResult> {
		if (!this.#process.takesInput) return {status: 'stdinClosed'};
		const chunk = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
		try {
			await this.#process.write(chunk, `local-${++this.#writes}`);
		} catch (error) {
			throw asRejection(error);
		}
		return {status: 'accepted'};
	}

	async closeStdin(): Promise<void> {
		this.#process.closeStdin();
	}

	async resize({rows, cols}: {rows: number; cols: number}): Promise<void> {
		if (!this.#process.resize({rows, columns: cols})) throw asRejection(noTerminal(this.processId));
	}

	async signal(signal: Signal): Promise<void> {
		try {
			this.#process.signal(toSignal(signal));
		} catch (error) {
			throw asRejection(error);
		}
	}

	async terminate(mode?: TerminateMode): Promise<TerminateResult> {
		const {running, survivors} = this.#process.terminate(toTerminateMode(mode));
		const alive = await survivors;
		return {running, ...(alive.length > 0 && {survivors: alive.map(({pid, command}) => ({pid, command}))})};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (!this.isOver) await this.terminate();
	}

	/** The log has something new, or the reader has room for it again. */
	changed(): void {
		while (this.#gate.isOpen) {
			const event = this.#cursor.next();
			if (!event) break;
			this.story.raiseWake(event.seq);
			this.story.publish(toEvent(event));
		}
		this.#process.afterDelivery();
	}

	#toResult({chunks, nextSeq, missedBytes}: OutputPage): ReadResult {
		const {exit, closedSeq} = this.#process.log;
		return {
			chunks: chunks.map(({seq, stream, bytes}: Chunk) => ({seq, stream, chunk: copyOf(bytes)})),
			nextSeq,
			exited: exit !== undefined,
			exitCode: exit?.exitCode ?? null,
			closed: closedSeq !== undefined,
			failure: null,
			sandboxDenied: false,
			...(missedBytes > 0 && {missedBytes}),
		};
	}
}

/** What is not taken from the log makes the child wait. */
class Gate implements Brake {
	isOpen = true;
	readonly #opened: () => void;

	constructor(opened: () => void) {
		this.#opened = opened;
	}

	hold(): void {
		this.isOpen = false;
	}

	release(): void {
		this.isOpen = true;
		this.#opened();
	}
}

/** Those of the log are used again. They are a `Buffer`, whose own `slice` does not copy. */
function copyOf(bytes: Uint8Array): Uint8Array {
	return new Uint8Array(bytes);
}

function toEvent(event: LogEvent): Parameters<ProcessStory['publish']>[0] {
	switch (event.kind) {
		case 'output':
			return {...event, bytes: copyOf(event.bytes)};
		case 'exited': {
			const {kind, seq, exitCode, reason} = event;
			return {kind, seq, exitCode, sandboxDenied: false, reason: reason === 'exit' ? undefined : reason};
		}
		case 'closed':
			return event;
	}
}
