import {Worker} from 'node:worker_threads';
import {Deferred} from '../../shared/async/deferred.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {findWorkerFile} from '../../shared/node/worker-file.js';
import type {FromPatternWorker, ToPatternWorker} from './pattern-messages.js';

/** Characters of a regular expression. */
export const MAX_PATTERN_CHARS = 1024;
/** Threads that match regular expressions, of all accounts; an account uses one at a time. */
export const MAX_PATTERN_THREADS = 4;
/** Time for matching one piece of text; a regular expression can run for ever. */
export const MAX_MATCH_MS = 1000;
/** The time is up after so many parts of it: a program that was stopped for long sees only one of them pass. */
const MATCH_TIME_PARTS = 4;
/** Time a thread without work is kept. */
export const IDLE_THREAD_MS = 10_000;
/** Pause after the preparation of work, in multiples of the time it took: this thread has more to do. */
const PAUSE_FACTOR = 4;

/** Compiles the expression here and not in the thread, so that the request fails at once. */
export function requireValidPattern(pattern: string): void {
	if (pattern.length > MAX_PATTERN_CHARS) {
		throw patternError(pattern, `is longer than ${MAX_PATTERN_CHARS} characters`);
	}
	try {
		RegExp(pattern);
	} catch (error) {
		throw patternError(pattern, `cannot be read: ${errorMessage(error)}`);
	}
}

function patternError(pattern: string, problem: string): LongarmError {
	return new LongarmError('PATTERN_INVALID', {message: `the pattern ${problem}`, context: {pattern}});
}

/** Undefined when there was no work. */
export type PatternAnswer = Exclude<FromPatternWorker, {kind: 'failed'}> | undefined;

interface Task {
	readonly account: unknown;
	readonly pattern: string;
	/** Called when a thread is free, so that work that has to wait takes no memory. */
	readonly prepare: () => ToPatternWorker | undefined;
	readonly answer: Deferred<PatternAnswer>;
}

interface Thread {
	readonly worker: Worker;
	/** Undefined while it is idle. */
	task: Task | undefined;
	/** Of the time limit, or of the end of a thread that is idle. */
	stopTimer: () => void;
}

/** Pool of threads for regular expressions of clients. Accounts take turns, with one piece of work each. */
export class PatternThreads {
	readonly #threads = new Set<Thread>();
	/** Accounts in the order of their next turn. */
	readonly #waiting = new Map<unknown, Set<Task>>();
	#resumeAt = 0;
	#isPausing = false;

	/** Threads that exist, with work or without. */
	get size(): number {
		return this.#threads.size;
	}

	/**
	 * The answer to the work that `prepare` returns; undefined if it returns none. Rejects with PATTERN_INVALID if the
	 * expression takes too long. Work that is cancelled before its turn never settles.
	 */
	run(
		account: unknown,
		pattern: string,
		prepare: () => ToPatternWorker | undefined,
	): {readonly answer: Promise<PatternAnswer>; readonly cancel: () => void} {
		const task: Task = {account, pattern, prepare, answer: new Deferred()};
		const tasks = this.#waiting.get(account) ?? new Set();
		this.#waiting.set(account, tasks.add(task));
		this.#startNext();
		return {answer: task.answer.promise, cancel: () => this.#leave(task)};
	}

	#startNext(): void {
		for (;;) {
			const busy = new Set([...this.#threads].flatMap(({task}) => (task ? [task.account] : [])));
			const next = [...this.#waiting].find(([account]) => !busy.has(account));
			const idle = [...this.#threads].find(({task}) => !task);
			if (!next || (!idle && this.#threads.size >= MAX_PATTERN_THREADS) || this.#mustPause()) return;
			const task = this.#takeFirst(next[0]);
			const work = this.#prepare(task);
			if (work) this.#start(task, work, idle);
		}
	}

	#mustPause(): boolean {
		const leftMs = this.#resumeAt - performance.now();
		if (leftMs <= 0) return false;
		if (!this.#isPausing) setTimeout(() => this.#resume(), leftMs);
		this.#isPausing = true;
		return true;
	}

	#resume(): void {
		this.#isPausing = false;
		this.#startNext();
	}

	#takeFirst(account: unknown): Task {
		const tasks = this.#waiting.get(account)!;
		const [task] = tasks;
		this.#leave(task!);
		// Behind all other accounts.
		if (this.#waiting.delete(account)) this.#waiting.set(account, tasks);
		return task!;
	}

	/** No-op for a task that does not wait. */
	#leave(task: Task): void {
		const tasks = this.#waiting.get(task.account);
		tasks?.delete(task);
		if (tasks?.size === 0) this.#waiting.delete(task.account);
	}

	#prepare(task: Task): ToPatternWorker | undefined {
		const startedAt = performance.now();
		try {
			const work = task.prepare();
			if (!work) task.answer.resolve(undefined);
			return work;
		} catch (error) {
			task.answer.reject(error);
			return undefined;
		} finally {
			const endedAt = performance.now();
			this.#resumeAt = endedAt + (endedAt - startedAt) * PAUSE_FACTOR;
		}
	}

	#start(task: Task, work: ToPatternWorker, idle: Thread | undefined): void {
		try {
			const thread = idle ?? this.#createThread();
			thread.task = task;
			thread.worker.ref();
			thread.worker.postMessage(work, work.kind === 'match' ? [work.bytes.buffer as ArrayBuffer] : []);
			// The time of a new thread begins when it runs.
			if (idle) this.#limitTime(thread);
		} catch (error) {
			// The system may have no more threads.
			task.answer.reject(error);
		}
	}

	#createThread(): Thread {
		const worker = new Worker(findWorkerFile('pattern-worker.js', import.meta.url));
		const thread: Thread = {worker, task: undefined, stopTimer: () => {}};
		this.#threads.add(thread);
		worker.once('online', () => {
			if (thread.task) this.#limitTime(thread);
		});
		worker.on('message', (answer: FromPatternWorker) => this.#handleAnswer(thread, answer));
		worker.on('error', error => {
			thread.task?.answer.reject(error);
			this.#remove(thread);
		});
		return thread;
	}

	#limitTime(thread: Thread): void {
		let parts = 0;
		const timer = setInterval(() => {
			if (++parts === MATCH_TIME_PARTS) this.#handleTimeout(thread);
		}, MAX_MATCH_MS / MATCH_TIME_PARTS);
		thread.stopTimer();
		thread.stopTimer = () => clearInterval(timer);
	}

	/** The same expression would take as long for others of the account that wait. */
	#handleTimeout(thread: Thread): void {
		const {account, pattern, answer} = thread.task!;
		const error = patternError(pattern, 'takes too long to match');
		answer.reject(error);
		for (const each of [...(this.#waiting.get(account) ?? [])].filter(task => task.pattern === pattern)) {
			this.#leave(each);
			each.answer.reject(error);
		}
		this.#remove(thread);
	}

	#handleAnswer(thread: Thread, answer: FromPatternWorker): void {
		const task = thread.task!;
		if (answer.kind === 'failed') task.answer.reject(patternError(task.pattern, `cannot be used: ${answer.message}`));
		else task.answer.resolve(answer);
		thread.task = undefined;
		thread.stopTimer();
		const timer = setTimeout(() => this.#remove(thread), IDLE_THREAD_MS);
		timer.unref();
		thread.stopTimer = () => clearTimeout(timer);
		thread.worker.unref();
		this.#startNext();
	}

	#remove(thread: Thread): void {
		if (!this.#threads.delete(thread)) return;
		thread.stopTimer();
		thread.worker.removeAllListeners('message');
		void thread.worker.terminate();
		this.#startNext();
	}
}

/** The threads of this program. */
export const patternThreads = new PatternThreads();
