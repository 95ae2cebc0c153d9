import {type ProcessHandle, ProcessLostError} from '../../../client/process/process-handle.js';
import type {LogEntry, Screen} from '../../../client/process/shared-process.js';
import {type WaitCondition, WaitError, type WaitResult} from '../../../client/run/wait-for.js';
import {waitAtMost, withTimeout} from '../../../shared/async/timeout.js';
import {HeadTailBuffer} from '../../../shared/head-tail-buffer.js';
import {collectMatches} from '../answers/collect-matches.js';
import {type OutputExcerpt, toExcerpt} from '../answers/output-excerpt.js';
import {plainText} from '../answers/plain-text.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {reach} from './lost-machine.js';
import type {
	LogRequest,
	StopOutcome,
	TrackedOutcome,
	TrackedProcess,
	WaitLimits,
	WaitUntil,
} from './tracked-process.js';

/** Output of a process that is kept here, and so much again for the next answer: head and tail. */
const MAX_HELD_BYTES = 256 * 1024;
const REST_MS = 500;
const STOPPED_MS = 5000;
const LAST_LINE_CHARACTERS = 120;
const END_OF_FILE_KEY = 4;

export interface SessionProcessOptions {
	readonly id: string;
	readonly isTerminal: boolean;
	/** Ends it after so long; a machine that cannot is told by this program. */
	readonly limitMs: number | undefined;
}

/**
 * A process of a machine that keeps nothing itself: its output is kept here, within bounds, and it belongs to the session
 * of this program.
 */
export class SessionProcess implements TrackedProcess {
	readonly id: string;
	readonly machine: NamedMachine;
	readonly isTerminal: boolean;
	readonly #handle: ProcessHandle;
	readonly #startedAt = performance.now();
	#endedAt: number | undefined;
	readonly #output = new HeadTailBuffer(MAX_HELD_BYTES);
	#unanswered = new HeadTailBuffer(MAX_HELD_BYTES);
	#lastSeq = 0;
	#answeredSeq = 0;

	constructor(machine: NamedMachine, handle: ProcessHandle, {id, isTerminal, limitMs}: SessionProcessOptions) {
		this.machine = machine;
		this.id = id;
		this.isTerminal = isTerminal;
		this.#handle = handle;
		const ended = (): void => {
			this.#endedAt ??= performance.now();
		};
		handle.exited.then(ended, ended);
		void this.#collect();
		if (limitMs !== undefined) void this.#limit(limitMs);
	}

	get processId(): string {
		return this.#handle.processId;
	}

	get elapsedMs(): number {
		return (this.#endedAt ?? performance.now()) - this.#startedAt;
	}

	get isOver(): boolean {
		return this.#handle.isOver;
	}

	async waitFor(until: WaitUntil, {ms, signal}: WaitLimits): Promise<TrackedOutcome> {
		const {text, port, silenceMs} = until;
		const condition: WaitCondition = {
			exit: true,
			...(text !== undefined && {pattern: new RegExp(text), after: this.#answeredSeq}),
			...(port !== undefined && {port}),
			...(silenceMs !== undefined && {silence: silenceMs}),
		};
		const {files} = this.machine.environment;
		try {
			const timeout = ms === undefined ? {} : {timeout: ms};
			return toOutcome(await this.#handle.waitFor(condition, {...timeout, signal, files}));
		} catch (error) {
			if (error instanceof ProcessLostError) return {by: 'lost', message: error.message};
			if (!(error instanceof WaitError)) throw error;
			if (error.reason === 'lost') return {by: 'lost', message: error.message};
			return error.reason === 'timeout' ? {by: 'time'} : {by: 'exit', exit: await this.#handle.exited};
		}
	}

	async readNew({maxChars, isEnded}: {maxChars: number; isEnded: boolean}): Promise<OutputExcerpt> {
		if (isEnded) {
			await waitAtMost(
				this.#handle.closed.catch(() => {}),
				REST_MS,
			);
		}
		const unanswered = this.#unanswered.take();
		this.#answeredSeq = this.#lastSeq;
		return excerptOf(unanswered, maxChars, this.#output.total);
	}

	async progress(): Promise<{bytes: number; lastLine: string}> {
		const text = plainText(new TextDecoder().decode(this.#output.bytes().subarray(-4096)).trimEnd());
		return {bytes: this.#output.total, lastLine: (text.split('\n').at(-1) ?? '').slice(-LAST_LINE_CHARACTERS)};
	}

	async logs({tail, from, grep, maxChars}: LogRequest): Promise<OutputExcerpt> {
		if (from !== undefined)
			throw new Error(`${this.machine.name} keeps no output: only its head and tail are known here`);
		const lines = new TextDecoder().decode(this.#output.markedBytes()).split(/(?<=\n)/);
		if (tail === undefined && grep === undefined) return excerptOf(this.#output, maxChars, this.#output.total);
		const last = tail === undefined ? lines : lines.slice(-tail);
		const pattern = grep === undefined ? undefined : new RegExp(grep);
		return collectMatches(toEntries(last.filter(line => pattern?.test(line) ?? true)), maxChars);
	}

	screen(): Promise<Screen> {
		return this.#handle.screen();
	}

	async write(bytes: Uint8Array): Promise<void> {
		const {status} = await reach(this.machine.name, this.#handle.write(bytes));
		if (status !== 'accepted') throw new Error(`${this.id} takes no input (${status})`);
	}

	async closeInput(): Promise<void> {
		if (this.isTerminal) return this.write(Uint8Array.of(END_OF_FILE_KEY));
		await reach(this.machine.name, this.#handle.closeStdin());
	}

	/** Such machines kill at once, or interrupt. */
	async stop(signal: string | undefined, graceMs: number): Promise<StopOutcome> {
		const wasOver = this.isOver;
		if (signal === 'INT' && !wasOver) await reach(this.machine.name, this.#handle.signal('interrupt'));
		else if (!wasOver) await reach(this.machine.name, this.#handle.terminate());
		const ended = this.#handle.exited.then(
			({exitCode}) => exitCode,
			() => undefined,
		);
		const exitCode = await withTimeout(ended, Math.max(graceMs, STOPPED_MS), () => undefined);
		return {wasOver, exitCode, survivors: []};
	}

	async #collect(): Promise<void> {
		try {
			for await (const piece of this.#handle.output()) {
				for (const buffer of [this.#output, this.#unanswered]) {
					if (piece.kind === 'gap') buffer.skip(piece.missedBytes ?? 0);
					else buffer.push(piece.bytes);
				}
				if (piece.kind === 'output') this.#lastSeq = piece.seq;
			}
		} catch {
			// The process was lost, which everyone who waits for it is told.
		}
	}

	async #limit(ms: number): Promise<void> {
		await waitAtMost(
			this.#handle.exited.catch(() => {}),
			ms,
		);
		if (!this.isOver) await this.#handle.terminate().catch(() => {});
	}
}

function toOutcome(result: WaitResult): TrackedOutcome {
	return result.by === 'pattern' ? {by: 'text', text: result.match[0]} : result;
}

function excerptOf(buffer: HeadTailBuffer, maxChars: number, endByte: number): OutputExcerpt {
	const bytes = buffer.bytes();
	const isWhole = buffer.omitted === 0 && bytes.length <= maxChars;
	const headChars = isWhole ? bytes.length : Math.min(Math.ceil(maxChars / 2), Math.ceil(bytes.length / 2));
	const tailChars = isWhole ? 0 : Math.min(maxChars - headChars, bytes.length - headChars);
	return toExcerpt({
		head: bytes.subarray(0, headChars),
		tail: bytes.subarray(bytes.length - tailChars),
		leftOutBytes: buffer.total - headChars - tailChars,
		missedBytes: 0,
		endByte,
	});
}

async function* toEntries(lines: readonly string[]): AsyncGenerator<LogEntry> {
	for (const line of lines) {
		yield {kind: 'output', seq: 0, stream: 'stdout', ms: undefined, bytes: new TextEncoder().encode(line)};
	}
}
