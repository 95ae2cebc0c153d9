import {type ProcessHandle, ProcessLostError} from '../../../client/process/process-handle.js';
import type {LogEntry, Screen} from '../../../client/process/shared-process.js';
import {type WaitCondition, WaitError, type WaitResult} from '../../../client/run/wait-for.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import {HeadTailBuffer} from '../../../shared/head-tail-buffer.js';
import {collectMatches} from '../answers/collect-matches.js';
import {type OutputExcerpt, toExcerpt} from '../answers/output-excerpt.js';
import {plainText} from '../answers/plain-text.js';
import {lackError, MachineRefusalError, writeOrRefuse} from '../machines/machine-lack.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {reach} from './lost-machine.js';
import {type ProcessRights, requireRight} from './process-rights.js';
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
/** Pause after an exit that ends the wait for the rest of the output: something left behind may hold it open. */
const REST_MS = 500;
/** Longest wait for the rest of the output after an exit, while it keeps coming. */
const MAX_REST_MS = 30_000;
/** Silence that stands for a prompt, where a machine cannot tell that a process waits for input. */
const PROMPT_SILENCE_MS = 3000;
const LOSS_NOTE = '… some output was lost on its way …\n';
const STOPPED_MS = 5000;
const LAST_LINE_CHARACTERS = 120;
const END_OF_FILE_KEY = 4;

export interface SessionProcessOptions {
	readonly id: string;
	readonly isTerminal: boolean;
	readonly rights: ProcessRights;
}

/**
 * A process of a machine that keeps nothing itself: its output is kept here, within bounds, and it belongs to the session
 * of this program.
 */
export class SessionProcess implements TrackedProcess {
	readonly id: string;
	readonly machine: NamedMachine;
	readonly isTerminal: boolean;
	readonly rights: ProcessRights;
	readonly #handle: ProcessHandle;
	readonly #startedAt = performance.now();
	#endedAt: number | undefined;
	readonly #output = new HeadTailBuffer(MAX_HELD_BYTES);
	#unanswered = new HeadTailBuffer(MAX_HELD_BYTES);
	#lastSeq = 0;
	#answeredSeq = 0;
	/** Output of unknown size is missing: at all, and since the last answer. */
	#hasLoss = false;
	#hasUnansweredLoss = false;
	/** Settles behind the last output. */
	readonly #collected: Promise<void>;
	/** This program has ended it; machines of this kind do not tell. */
	#isTerminated = false;
	/** Settles when it is known whether a kill found it running. */
	#ending: Promise<void> | undefined;

	constructor(machine: NamedMachine, handle: ProcessHandle, {id, isTerminal, rights}: SessionProcessOptions) {
		this.rights = rights;
		this.machine = machine;
		this.id = id;
		this.isTerminal = isTerminal;
		this.#handle = handle;
		const ended = (): void => {
			this.#endedAt ??= performance.now();
		};
		handle.exited.then(ended, ended);
		this.#collected = this.#collect();
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
		const {text, port, input, isPatient = false} = until;
		const silenceMs = until.silenceMs ?? (input === 'any' && !isPatient ? PROMPT_SILENCE_MS : undefined);
		const condition: WaitCondition = {
			exit: true,
			...(text !== undefined && {pattern: new RegExp(text), after: this.#answeredSeq}),
			...(port !== undefined && {port}),
			...(silenceMs !== undefined && {silence: silenceMs}),
		};
		const {files} = this.machine.environment;
		try {
			const timeout = ms === undefined ? {} : {timeout: ms};
			return await this.#toOutcome(await this.#handle.waitFor(condition, {...timeout, signal, files}));
		} catch (error) {
			if (error instanceof ProcessLostError) return {by: 'lost', message: error.message};
			if (!(error instanceof WaitError)) throw error;
			if (error.reason === 'lost') return {by: 'lost', message: error.message};
			return error.reason === 'timeout' ? {by: 'time'} : this.#toOutcome({by: 'exit', exit: await this.#handle.exited});
		}
	}

	async readNew({maxChars, isEnded}: {maxChars: number; isEnded: boolean}): Promise<OutputExcerpt> {
		if (isEnded) await this.#rest();
		const unanswered = this.#unanswered.take();
		const hasLoss = this.#hasUnansweredLoss;
		this.#hasUnansweredLoss = false;
		this.#answeredSeq = this.#lastSeq;
		return excerptOf(unanswered, {maxChars, endByte: this.#output.total, hasLoss});
	}

	async progress(): Promise<{bytes: number; lastLine: string}> {
		const text = plainText(new TextDecoder().decode(this.#output.bytes().subarray(-4096)).trimEnd());
		return {bytes: this.#output.total, lastLine: (text.split('\n').at(-1) ?? '').slice(-LAST_LINE_CHARACTERS)};
	}

	async logs({tail, from, grep, maxChars}: LogRequest): Promise<OutputExcerpt> {
		if (from !== undefined)
			throw new MachineRefusalError(`${this.machine.name} keeps no output: only its head and tail are known here`);
		const lines = new TextDecoder().decode(this.#output.markedBytes()).split(/(?<=\n)/);
		if (tail === undefined && grep === undefined)
			return excerptOf(this.#output, {maxChars, endByte: this.#output.total, hasLoss: this.#hasLoss});
		const last = tail === undefined ? lines : lines.slice(-tail);
		return collectMatches(toEntries(grep === undefined ? last : await this.#grep(grep, last)), maxChars);
	}

	async screen(): Promise<Screen> {
		const {hasScreens} = await this.machine.facts();
		if (!hasScreens) throw lackError(this.machine, 'screen', 'its server keeps none; send and wait answer with output');
		return this.#handle.screen();
	}

	async write(bytes: Uint8Array): Promise<void> {
		requireRight(this.rights, 'mayType');
		await reach(this.machine.name, writeOrRefuse(this.#handle, bytes, this.id));
	}

	async closeInput(): Promise<void> {
		requireRight(this.rights, 'mayType');
		if (this.isTerminal) return this.write(Uint8Array.of(END_OF_FILE_KEY));
		const {closesInput} = await this.machine.facts();
		if (!closesInput) throw lackError(this.machine, 'eof', 'only the input of a terminal can be ended there');
		await reach(this.machine.name, this.#handle.closeStdin());
	}

	/** Such machines kill at once, or interrupt. */
	async stop(signal: string | undefined, graceMs: number): Promise<StopOutcome> {
		requireRight(this.rights, 'mayEnd');
		if (signal !== undefined && signal !== 'INT' && signal !== 'KILL')
			throw lackError(this.machine, `signal ${signal}`, 'it only interrupts (INT) and kills');
		const wasOver = this.isOver;
		if (signal === 'INT' && !wasOver) await reach(this.machine.name, this.#handle.signal('interrupt'));
		else if (!wasOver) await reach(this.machine.name, this.#end());
		const ended = this.#handle.exited.then(
			({exitCode}) => exitCode,
			() => undefined,
		);
		const exitCode = await withTimeout(ended, Math.max(graceMs, STOPPED_MS), () => undefined);
		return {wasOver, exitCode, survivors: []};
	}

	/** In a thread: both the expression and the lines are of others. */
	async #grep(pattern: string, lines: readonly string[]): Promise<string[]> {
		const {grepLines} = await import('../../../processes/wait/grep-lines.js');
		const kept = await grepLines(
			pattern,
			lines.map(line => line.replace(/\n$/, '')),
			this,
		);
		return kept.map(index => lines[index]!);
	}

	async #collect(): Promise<void> {
		try {
			for await (const piece of this.#handle.output()) {
				if (piece.kind === 'gap' && piece.missedBytes === undefined) {
					this.#hasLoss = true;
					this.#hasUnansweredLoss = true;
				}
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

	/** Waits for output that is still on its way when the exit is known. */
	async #rest(): Promise<void> {
		const deadline = performance.now() + MAX_REST_MS;
		for (let before = -1; before < this.#output.total && performance.now() < deadline; ) {
			before = this.#output.total;
			const whole = this.#collected.then(() => true);
			if (await withTimeout(whole, REST_MS, () => false)) return;
		}
	}

	#end(): Promise<void> {
		const end = async (): Promise<void> => {
			const {running} = await this.#handle.terminate();
			this.#isTerminated ||= running;
		};
		this.#ending = end();
		return this.#ending;
	}

	async #toOutcome(result: WaitResult): Promise<TrackedOutcome> {
		if (result.by === 'pattern') return {by: 'text', text: result.match[0]};
		if (result.by !== 'exit' || result.exit.reason !== undefined) return result;
		await this.#ending?.catch(() => {});
		return this.#isTerminated ? {by: 'exit', exit: {...result.exit, reason: 'terminated'}} : result;
	}
}

interface ExcerptOptions {
	readonly maxChars: number;
	readonly endByte: number;
	readonly hasLoss: boolean;
}

function excerptOf(buffer: HeadTailBuffer, {maxChars, endByte, hasLoss}: ExcerptOptions): OutputExcerpt {
	const bytes = buffer.bytes();
	const isWhole = buffer.omitted === 0 && bytes.length <= maxChars;
	const headChars = isWhole ? bytes.length : Math.min(Math.ceil(maxChars / 2), Math.ceil(bytes.length / 2));
	const tailChars = isWhole ? 0 : Math.min(maxChars - headChars, bytes.length - headChars);
	const excerpt = toExcerpt({
		head: bytes.subarray(0, headChars),
		tail: bytes.subarray(bytes.length - tailChars),
		leftOutBytes: buffer.total - headChars - tailChars,
		missedBytes: 0,
		endByte,
	});
	return hasLoss ? {...excerpt, text: `${LOSS_NOTE}${excerpt.text}`} : excerpt;
}

async function* toEntries(lines: readonly string[]): AsyncGenerator<LogEntry> {
	for (const line of lines) {
		yield {kind: 'output', seq: 0, stream: 'stdout', ms: undefined, bytes: new TextEncoder().encode(line)};
	}
}
