import {availableParallelism} from 'node:os';
import type {Worker} from 'node:worker_threads';
import {Deferred} from '../../../../shared/async/deferred.js';
import {startWorker} from '../../../../shared/node/worker-file.js';
import type {HandshakeResult, HandshakeWork} from './handshake-work.js';

/** Threads that do handshakes; one core is left to the event loop. */
export const MAX_HANDSHAKE_THREADS = 4;
/** Handshakes that a thread has at once, so that it need not wait for the next one. */
const MAX_WORK_PER_THREAD = 2;
/** Time a thread without work is kept. */
const IDLE_MS = 10_000;

interface Task {
	readonly work: HandshakeWork;
	readonly result: Deferred<HandshakeResult>;
}

interface Thread {
	readonly worker: Worker;
	/** In the order in which the results come. */
	readonly tasks: Task[];
	idleTimer: NodeJS.Timeout | undefined;
}

/** Pool of threads for handshakes, begun with the first one and ended when there are none for a while. */
export class HandshakeThreads {
	readonly #threads = new Set<Thread>();
	readonly #waiting: Task[] = [];

	/** Handshakes that wait or are under way. */
	get busy(): number {
		return [...this.#threads].reduce((sum, {tasks}) => sum + tasks.length, this.#waiting.length);
	}

	/** Rejects if a thread cannot be begun, or has ended. */
	run(work: HandshakeWork): Promise<HandshakeResult> {
		const task = {work, result: new Deferred<HandshakeResult>()};
		this.#waiting.push(task);
		this.#startNext();
		return task.result.promise;
	}

	#startNext(): void {
		while (this.#waiting.length > 0) {
			const thread = this.#findThread();
			if (!thread) return;
			const task = this.#waiting.shift()!;
			clearTimeout(thread.idleTimer);
			thread.tasks.push(task);
			thread.worker.ref();
			thread.worker.postMessage(task.work, []);
		}
	}

	/** The thread with the least work, or a new one; undefined if all have enough. */
	#findThread(): Thread | undefined {
		const [least] = [...this.#threads].sort((one, other) => one.tasks.length - other.tasks.length);
		const longest = Math.min(MAX_HANDSHAKE_THREADS, Math.max(1, availableParallelism() - 1));
		if ((!least || least.tasks.length > 0) && this.#threads.size < longest) return this.#createThread();
		return least && least.tasks.length < MAX_WORK_PER_THREAD ? least : undefined;
	}

	#createThread(): Thread | undefined {
		try {
			const worker = startWorker('handshake-worker.js', import.meta.url);
			const thread: Thread = {worker, tasks: [], idleTimer: undefined};
			this.#threads.add(thread);
			worker.on('message', (result: HandshakeResult) => this.#finish(thread, result));
			worker.on('error', error => this.#remove(thread, error));
			worker.on('exit', () => this.#remove(thread, new Error('a thread for handshakes has ended')));
			return thread;
		} catch (error) {
			// The system may have no more threads.
			if (this.#threads.size === 0) for (const task of this.#waiting.splice(0)) task.result.reject(error);
			return undefined;
		}
	}

	#finish(thread: Thread, result: HandshakeResult): void {
		thread.tasks.shift()?.result.resolve(result);
		this.#startNext();
		if (thread.tasks.length > 0) return;
		thread.worker.unref();
		thread.idleTimer = setTimeout(() => this.#remove(thread), IDLE_MS).unref();
	}

	#remove(thread: Thread, error?: Error): void {
		if (!this.#threads.delete(thread)) return;
		clearTimeout(thread.idleTimer);
		void thread.worker.terminate();
		for (const {result} of thread.tasks.splice(0)) result.reject(error);
		this.#startNext();
	}
}
