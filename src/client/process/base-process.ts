import type {StreamEvent} from './event-log.js';
import type {Brake} from './held-events.js';
import {outputOf} from './output-stream.js';
import type {
	ExitStatus,
	Output,
	ProcessHandle,
	ReadOptions,
	ReadResult,
	Signal,
	TerminateMode,
	TerminateResult,
	WriteResult,
} from './process-handle.js';
import {ProcessStory} from './process-story.js';

/** What all handles have in common: a story that is told to whoever listens. */
export abstract class BaseProcess implements ProcessHandle {
	readonly processId: string;
	protected readonly story: ProcessStory;

	/** With a brake the first reader is waited for. */
	constructor(processId: string, brake?: Brake) {
		this.processId = processId;
		this.story = new ProcessStory(brake);
	}

	get exited(): Promise<ExitStatus> {
		return this.story.exited;
	}

	get closed(): Promise<void> {
		return this.story.closed;
	}

	get lastSeq(): number {
		return this.story.wake;
	}

	get isOver(): boolean {
		return this.story.isOver;
	}

	waitForSeq(after: number): Promise<number> {
		return this.story.woken(after);
	}

	events(): AsyncIterableIterator<StreamEvent> {
		return this.story.events();
	}

	output(): AsyncIterableIterator<Output> {
		return outputOf(this);
	}

	abstract read(options?: ReadOptions): Promise<ReadResult>;
	abstract write(bytes: Uint8Array | string): Promise<WriteResult>;
	abstract closeStdin(): Promise<void>;
	abstract resize(size: {rows: number; cols: number}): Promise<void>;
	abstract signal(signal: Signal): Promise<void>;
	abstract terminate(mode?: TerminateMode): Promise<TerminateResult>;
	abstract [Symbol.asyncDispose](): Promise<void>;
}
