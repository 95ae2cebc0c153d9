import type {OutputLog, OutputPage} from '../output/output-log.js';
import type {PatternMatch} from './pattern-messages.js';
import {patternThreads} from './pattern-threads.js';

/** Output that was looked at and is matched again with the output behind it: a match may begin there. */
export const MAX_WINDOW_BYTES = 64 * 1024;
/** Output that is matched at once: a window, the rest of its first chunk, and at least one chunk that is new. */
const MAX_MATCHED_BYTES = 3 * MAX_WINDOW_BYTES;
/** Pause between two matches of a process that writes all the time. */
const MATCH_INTERVAL_MS = 10;

export interface MatcherOptions {
	/** Regular expression, which can be read, and its flags. */
	readonly pattern: string;
	readonly flags: string;
	/** Output after this event is matched, without so many bytes of the next one. */
	readonly afterSeq: number;
	readonly afterOffset: number;
	/** Each account has one thread at a time. */
	readonly account: unknown;
}

/** A match, and its place in the output. */
export interface PlacedMatch extends Pick<PatternMatch, 'text' | 'groups'> {
	/** The place behind it: after so many bytes of the event with which the match is complete. */
	readonly end: {readonly seq: number; readonly offset: number};
	/** The match begins with the window, and there was output in front of that. */
	readonly isCut: boolean;
}

export interface MatcherEvents {
	/** Once. */
	matched(match: PlacedMatch): void;
	/** The expression takes too long, or there is no thread. Once. */
	failed(error: unknown): void;
}

/** Copy of consecutive chunks. */
interface MatchedText {
	readonly bytes: Uint8Array;
	/** Where each chunk ends. */
	readonly ends: readonly number[];
	readonly seqs: readonly number[];
	/** There was more than can be matched at once. */
	readonly isCut: boolean;
}

/**
 * Matches the output of a process against a pattern, as it comes. Between two matches nothing is kept but two positions: the
 * text is made of the log again when a thread is free, from the end of the last gap.
 */
export class OutputMatcher {
	readonly #log: OutputLog;
	readonly #options: MatcherOptions;
	readonly #events: MatcherEvents;
	readonly #unwatch: () => void;
	/** The window begins behind this event. */
	#windowAfterSeq: number;
	#lookedSeq: number;
	#state: 'idle' | 'matching' | 'pausing' | 'stopped' = 'idle';
	#cancel: () => void = () => {};
	#goal: {readonly seq: number; readonly reached: () => void} | undefined;

	constructor(log: OutputLog, options: MatcherOptions, events: MatcherEvents) {
		this.#log = log;
		this.#options = options;
		this.#events = events;
		this.#windowAfterSeq = options.afterSeq;
		this.#lookedSeq = options.afterSeq;
		this.#unwatch = log.watch(() => this.#advance());
		this.#advance();
	}

	/** Number of the last event that was looked at. */
	get lookedSeq(): number {
		return this.#lookedSeq;
	}

	/** Calls back, at once or later, when everything up to this event was matched in vain. */
	whenPast(seq: number, reached: () => void): void {
		this.#goal = {seq, reached};
		this.#checkGoal();
	}

	stop(): void {
		this.#state = 'stopped';
		this.#goal = undefined;
		this.#unwatch();
		this.#cancel();
	}

	/** Called after every event of the log: nothing to do while a match is under way. */
	#advance(): void {
		if (this.#state !== 'idle') return;
		let hasNewOutput: boolean;
		try {
			hasNewOutput = this.#hasNewOutput();
		} catch (error) {
			// Output on disk that cannot be read fails this wait, and not the process that writes more.
			this.#finish(() => this.#events.failed(error));
			return;
		}
		if (hasNewOutput) {
			void this.#match();
			return;
		}
		this.#lookedSeq = Math.max(this.#lookedSeq, this.#log.nextSeq - 1);
		this.#checkGoal();
	}

	#hasNewOutput(): boolean {
		return this.#lookedSeq < this.#log.nextSeq - 1 && this.#log.read(this.#lookedSeq, 1).chunks.length > 0;
	}

	#checkGoal(): void {
		const goal = this.#goal;
		if (!goal || this.#lookedSeq < goal.seq) return;
		this.#goal = undefined;
		goal.reached();
	}

	async #match(): Promise<void> {
		this.#state = 'matching';
		let text: MatchedText | undefined;
		const {pattern, flags, account} = this.#options;
		const task = patternThreads.run(account, pattern, () => {
			text = this.#readText();
			return text && {kind: 'match', pattern, flags, bytes: text.bytes};
		});
		this.#cancel = task.cancel;
		try {
			const answer = await task.answer;
			if (this.#isStopped) return;
			const match = answer?.kind === 'match' ? answer.match : undefined;
			if (match) this.#finish(() => this.#events.matched(this.#place(match, text!)));
			else this.#moveOn(text);
		} catch (error) {
			if (!this.#isStopped) this.#finish(() => this.#events.failed(error));
		}
	}

	#place({text, groups, index, end}: PatternMatch, {ends, seqs}: MatchedText): PlacedMatch {
		const last = ends.findIndex(each => each >= end);
		const seq = seqs[last]!;
		const offset = end - (ends[last - 1] ?? 0) + this.#skippedBytes(seq);
		return {text, groups, end: {seq, offset}, isCut: index === 0 && seqs[0]! > this.#options.afterSeq + 1};
	}

	#skippedBytes(seq: number): number {
		const {afterSeq, afterOffset} = this.#options;
		return seq === afterSeq + 1 ? afterOffset : 0;
	}

	get #isStopped(): boolean {
		return this.#state === 'stopped';
	}

	/** The window and new output; undefined if that is no longer retained. */
	#readText(): MatchedText | undefined {
		const page = this.#log.read(this.#windowAfterSeq, MAX_MATCHED_BYTES);
		if ((page.chunks.at(-1)?.seq ?? 0) > this.#lookedSeq) return this.#copyText(page);
		// Large chunks of the window may leave no room for a new one.
		const added = this.#log.read(this.#lookedSeq, MAX_MATCHED_BYTES);
		return added.chunks.length > 0 ? this.#copyText(added) : undefined;
	}

	/** The bytes of a log are only borrowed, and those of the copy go to another thread. */
	#copyText({chunks, nextSeq}: OutputPage): MatchedText {
		const ends: number[] = [];
		let size = 0;
		const pieces = chunks.map(({seq, bytes}) => bytes.subarray(this.#skippedBytes(seq)));
		for (const piece of pieces) {
			size += piece.length;
			ends.push(size);
		}
		const copy = new Uint8Array(size);
		for (const [index, piece] of pieces.entries()) copy.set(piece, ends[index]! - piece.length);
		return {bytes: copy, ends, seqs: chunks.map(({seq}) => seq), isCut: nextSeq < this.#log.nextSeq};
	}

	/** Goes on at once while there is more to be matched; else there is time to wait for more. */
	#moveOn(text: MatchedText | undefined): void {
		if (text) {
			this.#lookedSeq = text.seqs.at(-1)!;
			this.#windowAfterSeq = findWindow(text);
		}
		this.#state = 'pausing';
		const timer = setTimeout(
			() => {
				this.#state = 'idle';
				this.#advance();
			},
			text?.isCut ? 0 : MATCH_INTERVAL_MS,
		);
		this.#cancel = () => clearTimeout(timer);
		this.#checkGoal();
	}

	#finish(report: () => void): void {
		this.stop();
		report();
	}
}

/** Number of the last event in front of the last chunks that are as long as a window. */
function findWindow({ends, seqs}: MatchedText): number {
	const start = ends.at(-1)! - MAX_WINDOW_BYTES;
	const index = ends.findIndex(end => end > start);
	return seqs[index]! - 1;
}
