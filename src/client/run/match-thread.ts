import {Deferred} from '../../shared/async/deferred.js';
import {LongarmError} from '../../shared/errors.js';

/** Time for matching one text; a regular expression can run for ever. */
export const MAX_CLIENT_MATCH_MS = 1000;
/** The time is up after so many parts of it: a program that was stopped for long sees only one of them pass. */
const MATCH_TIME_PARTS = 4;
/** Operators with which the time of an expression can grow faster than the text. */
const OPERATORS = /[(|?*+{]/;

/** A match in a text. */
export interface ThreadMatch {
	readonly index: number;
	readonly text: string;
	readonly groups: readonly (string | undefined)[];
}

type Answer = {readonly match: ThreadMatch | null} | {readonly error: string};

/** Code of the thread as text, so that bundles and browsers need no file for it. */
const ANSWER = `const answer = ({source, flags, text}) => {
	try {
		const match = new RegExp(source, flags).exec(text);
		return {match: match && {index: match.index, text: match[0], groups: match.slice(1)}};
	} catch (error) {
		return {error: error.message};
	}
};`;
const NODE_CODE = `const {parentPort} = require('node:worker_threads'); ${ANSWER}
parentPort.on('message', work => parentPort.postMessage(answer(work)));
parentPort.postMessage('ready');`;
const WEB_CODE = `${ANSWER} self.onmessage = ({data}) => self.postMessage(answer(data)); self.postMessage('ready');`;

interface ThreadEvents {
	readonly message: (message: 'ready' | Answer) => void;
	/** There is no thread, for instance because the policy of the page forbids it. */
	readonly failed: () => void;
}

interface Thread {
	post(work: object): void;
	end(): void;
}

/** The little of `node:worker_threads` that is used here. */
interface WorkerThreads {
	readonly Worker: new (
		code: string,
		options: {eval: true},
	) => {
		on(event: string, listener: (value: never) => void): void;
		postMessage(work: object): void;
		terminate(): unknown;
	};
}

/** The same of the workers of browsers, which Node's declarations lack. */
type WebWorker = new (
	url: string,
	options: {type: 'module'},
) => {
	addEventListener(event: string, listener: (event: {data: 'ready' | Answer}) => void): void;
	postMessage(work: object): void;
	terminate(): void;
};

/**
 * Matches a regular expression in a thread, which is ended when that takes too long. Simple expressions need none. Where no
 * thread can be started, as in a page whose policy forbids it, the expression is matched on the event loop.
 */
export class MatchThread {
	readonly #pattern: RegExp;
	readonly #started = new Deferred<Thread | undefined>();
	#thread: Thread | undefined;
	#answer: Deferred<ThreadMatch | undefined> | undefined;
	#timer: ReturnType<typeof setInterval> | undefined;

	constructor(pattern: RegExp) {
		this.#pattern = pattern;
		if (isSimple(pattern)) {
			this.#started.resolve(undefined);
			return;
		}
		this.#thread = startThread({
			message: message => this.#receive(message),
			failed: () => this.#started.resolve(undefined),
		});
		if (!this.#thread) this.#started.resolve(undefined);
	}

	/** One call at a time. Rejects with PATTERN_INVALID for an expression that takes too long. */
	async match(text: string): Promise<ThreadMatch | undefined> {
		const {source, flags} = this.#pattern;
		const thread = await this.#started.promise;
		if (!thread) return matchHere(this.#pattern, text);
		const answer = new Deferred<ThreadMatch | undefined>();
		this.#answer = answer;
		this.#limitTime(answer);
		thread.post({source, flags, text});
		try {
			return await answer.promise;
		} finally {
			clearInterval(this.#timer);
		}
	}

	/** A match that is under way never settles. */
	close(): void {
		clearInterval(this.#timer);
		this.#thread?.end();
	}

	#receive(message: 'ready' | Answer): void {
		if (message === 'ready') this.#started.resolve(this.#thread);
		else if ('error' in message)
			this.#answer?.reject(patternFailure(this.#pattern, `cannot be used: ${message.error}`));
		else this.#answer?.resolve(message.match ?? undefined);
	}

	#limitTime(answer: Deferred<ThreadMatch | undefined>): void {
		let parts = 0;
		this.#timer = setInterval(() => {
			if (++parts < MATCH_TIME_PARTS) return;
			this.close();
			answer.reject(patternFailure(this.#pattern, 'takes too long to match'));
		}, MAX_CLIENT_MATCH_MS / MATCH_TIME_PARTS);
	}
}

function patternFailure({source}: RegExp, problem: string): LongarmError {
	return new LongarmError('PATTERN_INVALID', {message: `the pattern ${problem}`, context: {pattern: source}});
}

/** Without groups, alternatives and repetition the time is that of a search for a text. */
function isSimple({source}: RegExp): boolean {
	return !OPERATORS.test(source.replace(/\\./gs, ''));
}

function matchHere(pattern: RegExp, text: string): ThreadMatch | undefined {
	const match = pattern.exec(text);
	return match ? {index: match.index, text: match[0], groups: match.slice(1)} : undefined;
}

function startThread(events: ThreadEvents): Thread | undefined {
	try {
		return startNodeThread(events) ?? startWebThread(events);
	} catch {
		return undefined;
	}
}

/** Undefined in a browser. */
function startNodeThread({message, failed}: ThreadEvents): Thread | undefined {
	const {process} = globalThis as {process?: {getBuiltinModule?(name: string): unknown}};
	const threads = process?.getBuiltinModule?.('node:worker_threads') as WorkerThreads | undefined;
	if (!threads) return undefined;
	const worker = new threads.Worker(NODE_CODE, {eval: true});
	worker.on('message', message);
	worker.on('error', failed);
	// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
	return {post: work => worker.postMessage(work), end: () => void worker.terminate()};
}

/** Undefined where there are no workers. */
function startWebThread({message, failed}: ThreadEvents): Thread | undefined {
	const {Worker} = globalThis as {Worker?: WebWorker};
	if (!Worker) return undefined;
	const url = URL.createObjectURL(new Blob([WEB_CODE], {type: 'text/javascript'}));
	const worker = new Worker(url, {type: 'module'});
	worker.addEventListener('message', ({data}) => message(data));
	worker.addEventListener('error', failed);
	const end = (): void => {
		worker.terminate();
		URL.revokeObjectURL(url);
	};
	// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
	return {post: work => worker.postMessage(work), end};
}
