import type {Worker} from 'node:worker_threads';
import {Deferred} from '../async/deferred.js';
import {THREAD_READY} from './thread-ready.js';

/** The time is up after so many parts of it: a program that was stopped for long sees only one of them pass. */
const TIME_PARTS = 4;
/** Time a thread without work is kept. */
export const IDLE_THREAD_MS = 10_000;
/** Pause after the preparation of work, in multiples of the time it took: this thread has more to do. */
const PAUSE_FACTOR = 4;

/** Options of `LimitedThreads`. */
export interface LimitedThreadsOptions<Work> {
	/** Starts a thread, which posts `THREAD_READY` first and then one answer to each piece of work. */
	readonly start: () => Worker;
	readonly maxThreads: number;
	/** Time for one piece of work. */
	readonly maxMs: number;
	/** Parts of the work that are moved to the thread instead of copied. */
	readonly listTransfers?: ((work: Work) => ArrayBuffer[]) | undefined;
}

/** Work that was ended together with its thread, because it took too long. */
export class ThreadTimeoutError extends Error {
	override readonly name = 'ThreadTimeoutError';

	constructor(maxMs: number) {
		super(`the work took longer than ${maxMs} ms`);
	}
}

interface Task<Work, Answer> {
	readonly account: unknown;
	readonly key: string;
	/** Called when a thread is free, so that work that has to wait takes no memory. */
	readonly prepare: () => Work | undefined;
	readonly answer: Deferred<Answer | undefined>;
}

interface Thread<Work, Answer> {
	readonly worker: Worker;
	isReady: boolean;
	/** Undefined while it is idle. */
	task: Task<Work, Answer> | undefined;
	/** Of the time limit, or of the end of a thread that is idle. */
	stopTimer: () => void;
}

/**
 * Pool of threads for code that clients supply, such as regular expressions and schemas: work that takes too long is ended with
 * its thread. Accounts take turns, with one piece of work each.
 */
export class LimitedThreads<Work extends object, Answer extends object> {
	readonly #options: LimitedThreadsOptions<Work>;
	readonly #threads = new Set<Thread<Work, Answer>>();
	/** Accounts in the order of their next turn. */
	readonly #waiting = new Map<unknown, Set<Task<Work, Answer>>>();
	#resumeAt = 0;
	#isPausing = false;

	constructor(options: LimitedThreadsOptions<Work>) {
		this.#options = options;
	}

	/** Threads that exist, with work or without. */
	get size(): number {
		return this.#threads.size;
	}

	/**
	 * The answer to the work that `prepare` returns; undefined if it returns none. Rejects with a `ThreadTimeoutError` when the
	 * work takes too long, together with all waiting work of the account that has the same key. Work that is cancelled before
	 * its turn never settles.
	 */
	run(
		account: unknown,
		key: string,
		prepare: () => Work | undefined,
	): {readonly answer: Promise<Answer | undefined>; readonly cancel: () => void} {
		const task: Task<Work, Answer> = {account, key, prepare, answer: new Deferred()};
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
			if (!next || (!idle && this.#threads.size >= this.#options.maxThreads) || this.#mustPause()) return;
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

	#takeFirst(account: unknown): Task<Work, Answer> {
		const tasks = this.#waiting.get(account)!;
		const [task] = tasks;
		this.#leave(task!);
		// Behind all other accounts.
		if (this.#waiting.delete(account)) this.#waiting.set(account, tasks);
		return task!;
	}

	/** No-op for a task that does not wait. */
	#leave(task: Task<Work, Answer>): void {
		const tasks = this.#waiting.get(task.account);
		tasks?.delete(task);
		if (tasks?.size === 0) this.#waiting.delete(task.account);
	}

	#prepare(task: Task<Work, Answer>): Work | undefined {
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

	#start(task: Task<Work, Answer>, work: Work, idle: Thread<Work, Answer> | undefined): void {
		try {
			const thread = idle ?? this.#createThread();
			thread.task = task;
			thread.worker.ref();
			thread.worker.postMessage(work, this.#options.listTransfers?.(work) ?? []);
			// The time of a new thread begins when it is ready.
			if (thread.isReady) this.#limitTime(thread);
		} catch (error) {
			// The system may have no more threads.
			task.answer.reject(error);
		}
	}

	#createThread(): Thread<Work, Answer> {
		const worker = this.#options.start();
		const thread: Thread<Work, Answer> = {worker, isReady: false, task: undefined, stopTimer: () => {}};
		this.#threads.add(thread);
		worker.on('message', (message: Answer | typeof THREAD_READY) => {
			if (message !== THREAD_READY) return this.#handleAnswer(thread, message);
			thread.isReady = true;
			if (thread.task) this.#limitTime(thread);
		});
		worker.on('error', error => {
			thread.task?.answer.reject(error);
			this.#remove(thread);
		});
		return thread;
	}

	#limitTime(thread: Thread<Work, Answer>): void {
		let parts = 0;
		const timer = setInterval(() => {
			if (++parts === TIME_PARTS) this.#handleTimeout(thread);
		}, this.#options.maxMs / TIME_PARTS);
		thread.stopTimer();
		thread.stopTimer = () => clearInterval(timer);
	}

	/** Equal work of the account that waits would take as long. */
	#handleTimeout(thread: Thread<Work, Answer>): void {
		const {account, key, answer} = thread.task!;
		const error = new ThreadTimeoutError(this.#options.maxMs);
		answer.reject(error);
		for (const each of [...(this.#waiting.get(account) ?? [])].filter(task => task.key === key)) {
			this.#leave(each);
			each.answer.reject(error);
		}
		this.#remove(thread);
	}

	#handleAnswer(thread: Thread<Work, Answer>, answer: Answer): void {
		thread.task!.answer.resolve(answer);
		thread.task = undefined;
		thread.stopTimer();
		const timer = setTimeout(() => this.#remove(thread), IDLE_THREAD_MS);
		timer.unref();
		thread.stopTimer = () => clearTimeout(timer);
		thread.worker.unref();
		this.#startNext();
	}

	#remove(thread: Thread<Work, Answer>): void {
		if (!this.#threads.delete(thread)) return;
		thread.stopTimer();
		thread.worker.removeAllListeners('message');
		void thread.worker.terminate();
		this.#startNext();
	}
}
