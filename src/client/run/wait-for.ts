import {type ExitStatus, type ProcessHandle, ProcessLostError} from '../process/process-handle.js';
import {isListening, type PortSource} from './listening-ports.js';

/** How much of the latest output a pattern is looked for in. */
export const PATTERN_WINDOW_CHARS = 64 * 1024;
/** How often it is looked whether a port is open. */
const PORT_INTERVAL_MS = 50;

/** What is waited for; of several the first counts. */
export interface WaitCondition {
	/** That the process exits. */
	readonly exit?: boolean | undefined;
	/** That its output, from the beginning as far as it is kept, has this in it. */
	readonly pattern?: RegExp | string | undefined;
	/** That something listens on this TCP port of the machine. */
	readonly port?: number | undefined;
	/** That nothing was said for so many milliseconds. */
	readonly silence?: number | undefined;
}

export type WaitResult =
	| {readonly by: 'exit'; readonly exit: ExitStatus}
	| {readonly by: 'pattern'; readonly match: RegExpMatchArray}
	| {readonly by: 'port'; readonly port: number}
	| {readonly by: 'silence'};

export interface WaitOptions {
	/** Gives up after so many milliseconds. */
	readonly timeout?: number | undefined;
	readonly signal?: AbortSignal | undefined;
	/** The files of the process's machine: which ports are open there is read from them. */
	readonly files?: PortSource | undefined;
}

/** What was waited for will not happen, or has not in time. */
export class WaitError extends Error {
	override readonly name = 'WaitError';
	readonly reason: 'ended' | 'timeout' | 'lost';

	constructor(reason: 'ended' | 'timeout' | 'lost', message: string) {
		super(message);
		this.reason = reason;
	}
}

/** Waits for something a process does; the process runs on, whatever comes of it. */
export async function waitFor(
	process: ProcessHandle,
	condition: WaitCondition,
	options: WaitOptions = {},
): Promise<WaitResult> {
	if (Object.values(condition).every(value => value === undefined)) throw new TypeError('nothing to wait for');
	const {exit, pattern, port, silence} = condition;
	const {timeout, signal, files} = options;
	signal?.throwIfAborted();
	const stop = new AbortController();
	const until = stop.signal;
	const waits: Promise<WaitResult>[] = [];
	if (exit) waits.push(process.exited.then(status => ({by: 'exit', exit: status})));
	if (pattern !== undefined) waits.push(said(process, toRegExp(pattern), until));
	if (silence !== undefined) waits.push(fellSilent(process, silence, until));
	if (port !== undefined) waits.push(opened(port, required(files), until));
	// The output tells of the end, too, when everything in it was looked at.
	if (!exit && pattern === undefined) waits.push(process.closed.then(() => ended(process)));
	if (timeout !== undefined) waits.push(late(timeout, until));
	if (signal) waits.push(aborted(signal, until));
	try {
		return await Promise.race(waits);
	} catch (error) {
		throw error instanceof ProcessLostError ? new WaitError('lost', error.message) : error;
	} finally {
		stop.abort();
		for (const wait of waits) wait.catch(() => {});
	}
}

async function said(process: ProcessHandle, pattern: RegExp, until: AbortSignal): Promise<WaitResult> {
	const decoder = new TextDecoder();
	let text = '';
	for await (const piece of outputUntil(process, until)) {
		if (piece.kind === 'gap') text = '';
		else text = (text + decoder.decode(piece.bytes, {stream: true})).slice(-PATTERN_WINDOW_CHARS);
		const match = text.match(pattern);
		if (match) return {by: 'pattern', match};
	}
	return ended(process);
}

/** Settles only when there was silence; the end of the process is told by others. */
async function fellSilent(process: ProcessHandle, ms: number, until: AbortSignal): Promise<WaitResult> {
	const watch = new SilenceWatch(ms);
	const listening = (async (): Promise<never> => {
		for await (const _piece of outputUntil(process, until)) watch.noise();
		watch.stop();
		return new Promise<never>(() => {});
	})();
	try {
		return await Promise.race([watch.silent, listening]);
	} finally {
		watch.stop();
	}
}

function outputUntil(process: ProcessHandle, until: AbortSignal): ReturnType<ProcessHandle['output']> {
	const output = process.output();
	until.addEventListener('abort', () => void output.return?.(), {once: true});
	return output;
}

async function ended(process: ProcessHandle): Promise<never> {
	const {exitCode} = await process.exited;
	throw new WaitError('ended', `the process ended with code ${exitCode} before that`);
}

class SilenceWatch {
	readonly silent: Promise<WaitResult>;
	readonly #ms: number;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#tell!: () => void;

	constructor(ms: number) {
		this.#ms = ms;
		this.silent = new Promise(resolve => {
			this.#tell = () => resolve({by: 'silence'});
		});
		this.noise();
	}

	noise(): void {
		this.stop();
		this.#timer = setTimeout(this.#tell, this.#ms);
	}

	stop(): void {
		clearTimeout(this.#timer);
	}
}

async function opened(port: number, files: PortSource, until: AbortSignal): Promise<WaitResult> {
	while (!until.aborted) {
		if (await isListening(files, port)) return {by: 'port', port};
		await new Promise(resolve => setTimeout(resolve, PORT_INTERVAL_MS));
	}
	return new Promise(() => {});
}

async function late(ms: number, until: AbortSignal): Promise<never> {
	await new Promise<void>(resolve => {
		const timer = setTimeout(resolve, ms);
		until.addEventListener('abort', () => clearTimeout(timer), {once: true});
	});
	throw new WaitError('timeout', `it has not happened within ${ms} ms`);
}

function aborted(signal: AbortSignal, until: AbortSignal): Promise<never> {
	return new Promise((_resolve, reject) => {
		signal.addEventListener('abort', () => reject(signal.reason as Error), {once: true, signal: until});
	});
}

function toRegExp(pattern: RegExp | string): RegExp {
	// A global expression would remember where it stopped.
	if (typeof pattern !== 'string') return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''));
	return new RegExp(pattern.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
}

function required(files: PortSource | undefined): PortSource {
	if (!files) throw new TypeError('waiting for a port needs the files of the machine');
	return files;
}
