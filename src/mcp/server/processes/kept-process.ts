import type {ExitStatus, UnattachedProcess} from '../../../client/process/process-handle.js';
import type {LoggedPage, Screen} from '../../../client/process/shared-process.js';
import {type WaitCondition, WaitError, type WaitResult} from '../../../client/run/wait-for.js';
import {stopProcess} from '../../../environments/processes/stop-process.js';
import {Mutex} from '../../../shared/async/mutex.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {collectMatches} from '../answers/collect-matches.js';
import {type OutputExcerpt, toExcerpt} from '../answers/output-excerpt.js';
import {plainText} from '../answers/plain-text.js';
import {writeOrRefuse} from '../machines/machine-lack.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {isLoss, reach} from './lost-machine.js';
import {type ProcessRights, requireRight} from './process-rights.js';
import type {
	LogRequest,
	StopOutcome,
	TrackedOutcome,
	TrackedProcess,
	WaitLimits,
	WaitUntil,
} from './tracked-process.js';

/** Longest question to a machine: one that nobody waits for any more ends with it. */
const WAIT_SLICE_MS = 60_000;
/** Time that a lost link is given to come back, beyond the recovery of its session. */
const MAX_LOST_MS = 60_000;
const RETRY_INTERVAL_MS = 1000;
/** Time for the rest of the output after an exit; something the process has left behind may hold it open. */
const REST_MS = 500;
/** Bytes read for the last line. */
const LAST_LINE_BYTES = 4096;
const LAST_LINE_CHARACTERS = 120;
/** Stands for the end of the output. */
const END = Number.MAX_SAFE_INTEGER;
/** Events so late are never delivered. */
const NO_EVENTS = Number.MAX_SAFE_INTEGER;
const END_OF_FILE_KEY = 4;

/** Facts about a process that is known on its machine. */
export interface KeptProcessFacts {
	readonly id: string;
	readonly processId: string;
	readonly isTerminal: boolean;
	/** Age when it became known; undefined for one that had ended before. */
	readonly ageMs: number | undefined;
	readonly rights: ProcessRights;
}

/** Where the last answer ended: number of the next event, and of the next byte. */
interface ReadPlace {
	readonly seq: number;
	readonly byte: number;
}

/** A process that its machine keeps, with its output on disk: asked about, and never streamed to this program. */
export class KeptProcess implements TrackedProcess {
	readonly id: string;
	readonly processId: string;
	readonly machine: NamedMachine;
	readonly isTerminal: boolean;
	readonly rights: ProcessRights;
	readonly #startedAt: number | undefined;
	#endedAt: number | undefined;
	#exit: ExitStatus | undefined;
	#answered: ReadPlace = {seq: 1, byte: 0};
	/** One writer at a time: the seat of the driver is taken for each. */
	readonly #inputs = new Mutex();

	constructor(machine: NamedMachine, {id, processId, isTerminal, ageMs, rights}: KeptProcessFacts) {
		this.rights = rights;
		this.machine = machine;
		this.id = id;
		this.processId = processId;
		this.isTerminal = isTerminal;
		this.#startedAt = ageMs === undefined ? undefined : performance.now() - ageMs;
	}

	get elapsedMs(): number | undefined {
		return this.#startedAt === undefined ? undefined : (this.#endedAt ?? performance.now()) - this.#startedAt;
	}

	/** The exit was seen by other means. */
	exited(exit: ExitStatus): void {
		this.#exit ??= exit;
		this.#endedAt ??= performance.now();
	}

	async waitFor(until: WaitUntil, {ms, signal}: WaitLimits): Promise<TrackedOutcome> {
		const deadline = ms === undefined ? undefined : performance.now() + ms;
		let conditions = until;
		let lostAt: number | undefined;
		for (;;) {
			signal.throwIfAborted();
			if (this.#exit) return {by: 'exit', exit: this.#exit};
			const leftMs = deadline === undefined ? WAIT_SLICE_MS : Math.max(0, deadline - performance.now());
			try {
				const outcome = await this.#ask(conditions, leftMs, signal);
				lostAt = undefined;
				const isRefusedGuess = outcome?.by === 'input' && outcome.isGuess && conditions.input === 'sure';
				if (outcome && !isRefusedGuess) return outcome;
				// It would be told again at once.
				if (isRefusedGuess) conditions = {...conditions, input: undefined};
			} catch (error) {
				if (signal.aborted || !isLoss(error)) throw error;
				lostAt ??= performance.now();
				const isOver = deadline !== undefined && performance.now() >= deadline;
				if (isOver || performance.now() - lostAt > MAX_LOST_MS) return {by: 'lost', message: error.message};
				await waitAtMost(new Promise(() => {}), RETRY_INTERVAL_MS, signal);
				continue;
			}
			if (deadline !== undefined && performance.now() >= deadline) return {by: 'time'};
		}
	}

	async readNew({maxChars, isEnded}: {maxChars: number; isEnded: boolean}): Promise<OutputExcerpt> {
		const {seq, byte} = this.#answered;
		const read = await this.#read(byte, maxChars, isEnded ? REST_MS : 0);
		this.#answered = {seq: Math.max(seq, read.nextSeq), byte: read.excerpt.endByte};
		return read.excerpt;
	}

	async progress(): Promise<{bytes: number; lastLine: string}> {
		const page = await this.#page({tail: 1, maxBytes: LAST_LINE_BYTES});
		const bytes = page.isAtEnd ? page.next.byte : (await this.#page({from: END})).next.byte;
		const line = plainText(new TextDecoder().decode(joinPieces(page)).trimEnd());
		return {bytes, lastLine: line.slice(-LAST_LINE_CHARACTERS)};
	}

	async logs({tail, from, grep, maxChars, signal}: LogRequest): Promise<OutputExcerpt> {
		if (grep !== undefined) {
			const process = await this.#reference();
			const start = tail !== undefined ? {tail} : {};
			return collectMatches(process.logs({...start, grep: new RegExp(grep), signal}), maxChars);
		}
		if (tail === undefined) return (await this.#read(from ?? 0, maxChars, 0)).excerpt;
		const {next, pieces} = await this.#page({tail, maxBytes: maxChars});
		const first = next.byte - pieces.reduce((sum, {bytes}) => sum + bytes.length, 0);
		return (await this.#read(first, maxChars, 0)).excerpt;
	}

	async screen(): Promise<Screen> {
		const process = await this.#reference();
		return reach(this.machine.name, process.screen());
	}

	write(bytes: Uint8Array): Promise<void> {
		return this.#drive(process => writeOrRefuse(process, bytes, this.id));
	}

	closeInput(): Promise<void> {
		if (this.isTerminal) return this.write(Uint8Array.of(END_OF_FILE_KEY));
		return this.#drive(process => process.closeStdin());
	}

	async stop(signal: string | undefined, graceMs: number): Promise<StopOutcome> {
		requireRight(this.rights, 'mayEnd');
		const {environment} = this.machine;
		return stopProcess({environment, reference: this.processId}, {signal, graceMs});
	}

	/** Undefined when nothing has happened. */
	async #ask(until: WaitUntil, leftMs: number, signal: AbortSignal): Promise<TrackedOutcome | undefined> {
		const {text, port, silenceMs, input} = until;
		const condition: WaitCondition = {
			exit: true,
			...(text !== undefined && {pattern: new RegExp(text), after: this.#answered.seq - 1}),
			...(port !== undefined && {port}),
			...(silenceMs !== undefined && {silence: silenceMs}),
			...(input && {input: true}),
		};
		// Silence that is longer than a question would never be seen.
		const timeout = Math.min(leftMs, Math.max(WAIT_SLICE_MS, 2 * (silenceMs ?? 0)));
		const process = await reach(this.machine.name, this.#reference());
		try {
			return this.#toOutcome(await process.waitFor(condition, {timeout, signal}));
		} catch (error) {
			if (error instanceof WaitError && error.reason === 'timeout') return undefined;
			throw error;
		}
	}

	#toOutcome(result: WaitResult): TrackedOutcome {
		if (result.by === 'exit') this.exited(result.exit);
		return result.by === 'pattern' ? {by: 'text', text: result.match[0]} : result;
	}

	/** Head and tail of the output from a byte on. */
	async #read(from: number, maxChars: number, restMs: number): Promise<{excerpt: OutputExcerpt; nextSeq: number}> {
		const headChars = Math.ceil(maxChars / 2);
		const first = await this.#pageUntilClosed(from, maxChars, restMs);
		const all = joinPieces(first);
		const {missedBytes} = first;
		if (first.isAtEnd && all.length <= maxChars) {
			const parts = {head: all, tail: new Uint8Array(0), leftOutBytes: 0, missedBytes, endByte: first.next.byte};
			return {excerpt: toExcerpt(parts), nextSeq: first.next.seq};
		}
		const start = first.next.byte - all.length;
		const {byte: end} = (await this.#page({from: END})).next;
		const tailStart = Math.max(start + headChars, end - (maxChars - headChars));
		const last =
			tailStart < first.next.byte && first.isAtEnd
				? undefined
				: await this.#page({from: tailStart, maxBytes: maxChars});
		const tail = last ? joinPieces(last).subarray(0, maxChars - headChars) : all.subarray(tailStart - start);
		const head = all.subarray(0, headChars);
		const leftOutBytes = tailStart - start - head.length;
		const parts = {head, tail, leftOutBytes, missedBytes, endByte: tailStart + tail.length};
		return {excerpt: toExcerpt(parts), nextSeq: seqAt(last ?? first, parts.endByte)};
	}

	/** The first page; at the end of the output, waits for the rest of it. */
	async #pageUntilClosed(from: number, maxBytes: number, restMs: number): Promise<LoggedPage> {
		const deadline = performance.now() + restMs;
		for (;;) {
			const page = await this.#page({from, maxBytes});
			const leftMs = deadline - performance.now();
			if (!page.isAtEnd || page.isClosed || leftMs <= 0) return page;
			await this.#page({from: page.next.byte, maxBytes: 1, wait: leftMs});
		}
	}

	async #page(options: Parameters<UnattachedProcess['logPage']>[0]): Promise<LoggedPage> {
		const ask = async (): Promise<LoggedPage> => (await this.#reference()).logPage(options);
		return reach(this.machine.name, ask());
	}

	#reference(): Promise<UnattachedProcess> {
		return this.machine.environment.processes.reference(this.processId);
	}

	/** Never takes the seat from a person who types. */
	#drive(work: (process: Awaited<ReturnType<NamedMachine['environment']['attach']>>) => Promise<void>): Promise<void> {
		const drive = async (): Promise<void> => {
			requireRight(this.rights, 'mayType');
			const process = await this.machine.environment.attach(this.processId, {role: 'drive', afterSeq: NO_EVENTS});
			try {
				await work(process);
			} finally {
				process.detach().catch(() => {});
			}
		};
		return this.#inputs.run(() => reach(this.machine.name, drive()));
	}
}

/** Number of the event that a byte of a page belongs to. */
function seqAt({pieces, next}: LoggedPage, byte: number): number {
	let end = next.byte - pieces.reduce((sum, {bytes}) => sum + bytes.length, 0);
	for (const {seq, bytes} of pieces) {
		end += bytes.length;
		if (byte < end) return seq;
	}
	return next.seq;
}

function joinPieces({pieces}: LoggedPage): Uint8Array {
	const joined = new Uint8Array(pieces.reduce((sum, {bytes}) => sum + bytes.length, 0));
	let at = 0;
	for (const {bytes} of pieces) {
		joined.set(bytes, at);
		at += bytes.length;
	}
	return joined;
}
