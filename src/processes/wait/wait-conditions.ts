import type {ResultOnWire} from '../../protocol/methods/method-table.js';
import type {AwaitedInput} from '../../protocol/methods/sharing-params.js';
import type {Lifetime} from '../../shared/async/lifetime.js';
import {LongarmError} from '../../shared/errors.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import type {ManagedProcess} from '../managed-process.js';
import {canTellInput, watchInput} from './input-watch.js';
import {readListeningPorts, watchPort} from './listening-ports.js';
import {OutputMatcher, type PlacedMatch} from './output-matcher.js';
import {readPattern, requireValidPattern} from './pattern-threads.js';

/** Time for matching output that was there when another condition was met; before an exit there is no limit. */
export const MAX_CATCH_UP_MS = 1000;

/** Conditions of which the first that is met ends a wait. */
export interface WaitConditions {
	/** The process exits. */
	readonly exit: boolean;
	/** The output matches this regular expression. */
	readonly pattern: string | undefined;
	/** Flags of the expression. */
	readonly patternFlags?: string | undefined;
	/** Only output after this event is matched. */
	readonly afterSeq: number | undefined;
	/** Bytes of the event after that one that are not matched either. */
	readonly afterOffset?: number | undefined;
	/** A program listens on this TCP port of the machine. */
	readonly port: number | undefined;
	/** No output for so long, from the beginning of the wait on. */
	readonly silenceMs: number | undefined;
	/** The process waits for input. */
	readonly input: boolean;
	readonly timeoutMs: number | undefined;
}

/** The condition that was met, as `process/waitFor` answers it. */
export type WaitOutcome = ResultOnWire<'process/waitFor'>;

/** Met by something else than output that matches. */
type Met =
	| {readonly by: 'exit' | 'port' | 'silence' | 'timeout' | 'ended'}
	| {readonly by: 'input'; readonly waitingFor: AwaitedInput; readonly isGuess: boolean};

/**
 * Waits until a process that was started meets one of several conditions, or `ended` when it has closed before. Output
 * that was there when another condition was met is matched first. A wait that is cut off by the end of `lifetime` never
 * settles. Patterns of one account share a thread.
 */
export function waitForConditions(
	process: ManagedProcess,
	conditions: WaitConditions,
	lifetime: Lifetime,
	account: unknown,
): Promise<WaitOutcome> {
	if (conditions.pattern !== undefined) requireValidPattern(conditions.pattern, conditions.patternFlags);
	if (conditions.input && !canTellInput(process)) throw inputUnsupportedError();
	// The connection is closed, so the reply has no receiver.
	if (lifetime.isClosed) return new Promise(() => {});
	const begin = (): Promise<WaitOutcome> =>
		new Promise((resolve, reject) =>
			new ConditionWait(process, conditions, {resolve, reject}).begin(lifetime, account),
		);
	const {pattern, patternFlags = ''} = conditions;
	const reading = pattern === undefined ? undefined : readPattern(pattern, patternFlags, account);
	if (!reading) return begin();
	return reading.then(() => (lifetime.isClosed ? new Promise<never>(() => {}) : begin()));
}

function inputUnsupportedError(): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {
		message:
			'this executor cannot tell whether a process waits for input: that takes Linux and its native part (koffi)',
	});
}

interface Settle {
	readonly resolve: (outcome: WaitOutcome) => void;
	readonly reject: (error: unknown) => void;
}

/** One wait, until it is settled or cut off. */
class ConditionWait {
	readonly #process: ManagedProcess;
	readonly #conditions: WaitConditions;
	readonly #settle: Settle;
	readonly #stops: (() => void)[] = [];
	#matcher: OutputMatcher | undefined;
	/** Met while output that came before has yet to be matched. */
	#met: Met | undefined;
	#isClosed = false;

	constructor(process: ManagedProcess, conditions: WaitConditions, settle: Settle) {
		this.#process = process;
		this.#conditions = conditions;
		this.#settle = settle;
	}

	begin(lifetime: Lifetime, account: unknown): void {
		const {pattern, port, silenceMs, input, timeoutMs} = this.#conditions;
		this.#onStop(lifetime.add(() => this.#stop()));
		this.#onStop(this.#process.log.watch(() => this.#checkEnd()));
		if (pattern !== undefined) this.#matchOutput(pattern, account);
		if (silenceMs !== undefined) this.#watchSilence(silenceMs);
		if (port !== undefined) {
			const listening = (): void => this.#meet({by: 'port'});
			this.#onStop(watchPort(port, {listening, failed: error => this.#reject(error)}));
		}
		if (input) {
			this.#onStop(
				watchInput(this.#process, ({awaited, isGuess}) => this.#meet({by: 'input', waitingFor: awaited, isGuess})),
			);
		}
		if (timeoutMs !== undefined) this.#setTimer(timeoutMs, () => this.#meet({by: 'timeout'}));
		this.#checkEnd();
	}

	#matchOutput(pattern: string, account: unknown): void {
		const {log} = this.#process;
		const {patternFlags: flags = '', afterSeq = 0, afterOffset = 0} = this.#conditions;
		const matcher = new OutputMatcher(
			log,
			{pattern, flags, afterSeq, afterOffset, account},
			{
				matched: match => this.#resolve({by: 'pattern', match: describeMatch(match), seq: match.end.seq}),
				failed: error => this.#reject(error),
			},
		);
		this.#matcher = matcher;
		this.#onStop(() => matcher.stop());
	}

	/** The timer is not set again for every piece of output, of which there may be very many. */
	#watchSilence(silenceMs: number): void {
		const {log} = this.#process;
		let bytes = log.totalBytes;
		let quietSince = performance.now();
		const check = (): void => {
			const leftMs = quietSince + silenceMs - performance.now();
			if (leftMs <= 0) this.#meet({by: 'silence'});
			else this.#setTimer(leftMs, check);
		};
		this.#onStop(
			log.watch(() => {
				if (log.totalBytes !== bytes) quietSince = performance.now();
				bytes = log.totalBytes;
			}),
		);
		check();
	}

	/** Called after every event. */
	#checkEnd(): void {
		const {log, state} = this.#process;
		if (this.#conditions.exit && log.exit) this.#meet({by: 'exit'}, log.exit.seq);
		else if (log.closedSeq !== undefined || state.kind === 'closed') void this.#end();
	}

	/** A port that is listened on by now counts: the process may have left another one behind that does. */
	async #end(): Promise<void> {
		const {port} = this.#conditions;
		if (port === undefined || this.#met) {
			this.#meet({by: 'ended'});
			return;
		}
		try {
			this.#meet({by: (await readListeningPorts()).has(port) ? 'port' : 'ended'});
		} catch (error) {
			this.#reject(error);
		}
	}

	/** The first condition counts, unless output up to that event matches. */
	#meet(met: Met, seq = this.#process.log.nextSeq - 1): void {
		if (this.#isClosed) return;
		if (!this.#matcher || (this.#met && met.by === 'timeout')) {
			this.#finish(this.#met ?? met);
			return;
		}
		if (this.#met) return;
		this.#met = met;
		if (met.by !== 'exit' && met.by !== 'ended') this.#setTimer(MAX_CATCH_UP_MS, () => this.#finish(met));
		this.#matcher.whenPast(seq, () => this.#finish(met));
	}

	#finish(met: Met): void {
		this.#resolve({...met, seq: this.#matcher?.lookedSeq ?? this.#process.log.nextSeq - 1});
	}

	#resolve(outcome: WaitOutcome): void {
		const {exit} = this.#process.log;
		this.#stop();
		this.#settle.resolve({...outcome, exitCode: exit?.exitCode ?? null, reason: exit?.reason ?? null});
	}

	#reject(error: unknown): void {
		this.#stop();
		this.#settle.reject(error);
	}

	#setTimer(ms: number, action: () => void): void {
		const timer = setTimeout(action, Math.min(Math.ceil(ms), MAX_TIMER_MS));
		this.#onStop(() => clearTimeout(timer));
	}

	#onStop(stop: () => void): void {
		if (this.#isClosed) stop();
		else this.#stops.push(stop);
	}

	#stop(): void {
		this.#isClosed = true;
		for (const stop of this.#stops.splice(0)) stop();
	}
}

function describeMatch({groups, isCut, ...match}: PlacedMatch): NonNullable<WaitOutcome['match']> {
	return {...match, groups: [...groups], ...(isCut && {isCut})};
}
