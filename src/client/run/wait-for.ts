import type {AwaitedInput} from '../../protocol/methods/sharing-params.js';
import {Deferred} from '../../shared/async/deferred.js';
import {onAbort} from '../../shared/async/on-abort.js';
import {type OptionTable, type ReadOptionsOf, readOptions} from '../../shared/call-options.js';
import {LongarmError} from '../../shared/errors.js';
import {type Duration, MAX_TIMER_MS} from '../../shared/units.js';
import {type ExitStatus, type ProcessHandle, ProcessLostError} from '../process/process-handle.js';
import {MatchThread} from './match-thread.js';
import {type OutputPosition, OutputWindow} from './output-window.js';
import {type PatternResult, toPatternResult} from './pattern-result.js';

/** Sliding window of the latest output that a pattern is matched against; see `PatternResult.isTruncated`. */
export const MAX_PATTERN_WINDOW_CHARS = 64 * 1024;
const PORT_POLL_INTERVAL_MS = 50;
/** Linux's tables of TCP sockets: one line each, the address second, the state fourth. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const LISTENING = '0A';

/** Condition to wait for; with several members, the first that is met. */
export interface WaitCondition {
	/** The process exits. */
	readonly exit?: boolean | undefined;
	/** The output, from the oldest that is retained, matches. */
	readonly pattern?: RegExp | string | undefined;
	/** Only later output is matched: after an event of this number, or after the `end` of an earlier match. */
	readonly after?: number | OutputPosition | undefined;
	/** A program listens on this TCP port of the machine. */
	readonly port?: number | undefined;
	/** There was no output for so many milliseconds, or `'5s'`. */
	readonly silence?: Duration | undefined;
	/** The process waits for input. Needs a server with `processWaitFor`. */
	readonly input?: boolean | undefined;
}

/** Kind of input a process waits for; a password is input that its terminal does not show. */
export type {AwaitedInput};

/** Condition that was met first, told apart by `by`. */
export type WaitResult =
	| {readonly by: 'exit'; readonly exit: ExitStatus}
	| PatternResult
	| {readonly by: 'port'; readonly port: number}
	| {readonly by: 'silence'}
	/** `isGuess`: it looks like it, but the operating system does not tell. */
	| {readonly by: 'input'; readonly waitingFor: AwaitedInput; readonly isGuess: boolean};

/** Results that a condition with these members can have. */
export type WaitResultOf<K extends keyof WaitCondition> = Extract<WaitResult, {readonly by: K}>;

/** Options of `waitFor`. */
export interface WaitOptions {
	/** Fails with a `WaitError` after so many milliseconds, or `'5s'`. */
	readonly timeout?: Duration | undefined;
	readonly signal?: AbortSignal | undefined;
	/** Files of the process's machine; needed to wait for a port, unless the server does. */
	readonly files?: PortSource | undefined;
}

const CONDITION: OptionTable<WaitCondition> = {
	exit: 'flag',
	pattern: 'any',
	after: 'any',
	port: 'count',
	silence: 'duration',
	input: 'flag',
};

const WAIT_OPTIONS: OptionTable<WaitOptions> = {timeout: 'duration', signal: 'signal', files: 'object'};

/** The condition cannot be met any more, or was not in time. */
export class WaitError extends Error {
	override readonly name = 'WaitError';
	readonly reason: 'ended' | 'timeout' | 'lost';

	constructor(reason: 'ended' | 'timeout' | 'lost', message: string) {
		super(message);
		this.reason = reason;
	}
}

/** Waits until a process meets a condition; the process runs on in any case. */
export async function waitFor<K extends keyof WaitCondition>(
	process: ProcessHandle,
	condition: Pick<WaitCondition, K>,
	options: WaitOptions = {},
): Promise<WaitResultOf<K>> {
	const {exit, pattern, port, silence, input, start, timeout, signal, files} = readWait(condition, options);
	if (input) throw inputNotSeenError();
	signal?.throwIfAborted();
	const stop = new AbortController();
	const until = stop.signal;
	const waits: Promise<WaitResult>[] = [];
	if (exit) waits.push(process.exited.then(status => ({by: 'exit', exit: status})));
	if (pattern !== undefined) waits.push(waitForPattern(process, pattern, start, until));
	if (silence !== undefined) waits.push(waitForSilence(process, silence, until));
	if (port !== undefined) waits.push(waitForPort(port, requireFiles(files), until));
	// With a pattern, the end is reported by `waitForPattern`, after all output was matched.
	if (!exit && pattern === undefined) waits.push(process.closed.then(() => throwEnded(process)));
	const failure = new Deferred<never>();
	waits.push(failure.promise);
	const stopListening = onAbort(signal, failure.reject);
	const timer =
		timeout === undefined
			? undefined
			: setTimeout(() => failure.reject(timeoutError(timeout)), Math.min(timeout, MAX_TIMER_MS));
	try {
		// Only waits for given members were started.
		return (await Promise.race(waits)) as WaitResultOf<K>;
	} catch (error) {
		throw error instanceof ProcessLostError ? new WaitError('lost', error.message) : error;
	} finally {
		stop.abort();
		stopListening();
		clearTimeout(timer);
		for (const wait of waits) wait.catch(() => {});
	}
}

/** Condition and options of a wait, checked. */
export interface ReadWait extends ReadOptionsOf<Omit<WaitCondition, 'pattern' | 'after'> & WaitOptions> {
	readonly pattern: RegExp | undefined;
	/** Place in the output from which the pattern is matched. */
	readonly start: OutputPosition;
}

/** Throws a `TypeError` for what cannot be waited for. */
export function readWait(condition: WaitCondition, options: WaitOptions): ReadWait {
	const {after, pattern, ...rest} = readOptions<WaitCondition>(condition, CONDITION, 'waitFor()');
	const isEmpty = !rest.exit && pattern === undefined && rest.port === undefined && rest.silence === undefined;
	if (isEmpty && !rest.input) throw new TypeError('nothing to wait for');
	const settings = readOptions<WaitOptions>(options, WAIT_OPTIONS, 'waitFor()');
	const start = toStart(after, pattern);
	return {...rest, ...settings, start, pattern: pattern === undefined ? undefined : toRegExp(pattern)};
}

async function waitForPattern(
	process: ProcessHandle,
	pattern: RegExp,
	start: OutputPosition,
	until: AbortSignal,
): Promise<WaitResult> {
	const window = new OutputWindow(MAX_PATTERN_WINDOW_CHARS);
	const thread = new MatchThread(pattern);
	until.addEventListener('abort', () => thread.close(), {once: true});
	for await (const piece of outputUntil(process, until, start.seq - 1)) {
		if (piece.kind === 'gap') {
			window.clear();
			continue;
		}
		const {seq, bytes} = piece;
		const offset = seq === start.seq ? start.offset : 0;
		window.push(bytes.subarray(offset), {seq, offset});
		const match = await thread.match(window.text);
		if (!match) continue;
		const {index, text, groups} = match;
		const end = window.positionAfter(index + text.length);
		return toPatternResult(process, pattern, start, {text, groups, end, isCut: index === 0 && window.isCut});
	}
	return throwEnded(process);
}

/** Where to begin: at the first byte, behind an event, or behind some bytes of one. */
function toStart(after: WaitCondition['after'], pattern: WaitCondition['pattern']): OutputPosition {
	if (after === undefined) return {seq: 1, offset: 0};
	if (pattern === undefined) throw new TypeError('option `after` of waitFor() needs a pattern');
	const start = typeof after === 'number' ? {seq: after + 1, offset: 0} : after;
	if (isCount(start?.seq) && isCount(start.offset)) return start;
	throw new TypeError('option `after` of waitFor() must be the number of an event, or the `end` of a match');
}

function isCount(value: unknown): boolean {
	return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Idle timeout over the output. Stays pending when the process ends first: `waitFor` handles the end. */
function waitForSilence(process: ProcessHandle, ms: number, until: AbortSignal): Promise<WaitResult> {
	const silence = new Deferred<WaitResult>();
	let timer: ReturnType<typeof setTimeout> | undefined;
	const restartTimer = (): void => {
		clearTimeout(timer);
		timer = setTimeout(() => silence.resolve({by: 'silence'}), Math.min(ms, MAX_TIMER_MS));
	};
	const readOutput = async (): Promise<void> => {
		try {
			for await (const _piece of outputUntil(process, until)) restartTimer();
		} finally {
			clearTimeout(timer);
		}
	};
	restartTimer();
	readOutput().catch(silence.reject);
	return silence.promise;
}

function outputUntil(process: ProcessHandle, until: AbortSignal, afterSeq = 0): ReturnType<ProcessHandle['output']> {
	const output = process.output({afterSeq});
	until.addEventListener('abort', () => void output.return?.(), {once: true});
	return output;
}

async function throwEnded(process: ProcessHandle): Promise<never> {
	const {exitCode} = await process.exited;
	throw endedError(exitCode);
}

export function endedError(exitCode: number | null | undefined): WaitError {
	const how = exitCode === null || exitCode === undefined ? '' : ` with code ${exitCode}`;
	return new WaitError('ended', `the process ended${how} before that`);
}

/** Only the kernel of the process knows. */
function inputNotSeenError(): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {
		message: 'this executor does not tell whether a process waits for input (processWaitFor)',
		context: {capability: 'processWaitFor'},
	});
}

async function waitForPort(port: number, files: PortSource, until: AbortSignal): Promise<WaitResult> {
	while (!until.aborted) {
		if (await isListening(files, port)) return {by: 'port', port};
		await new Promise(resolve => setTimeout(resolve, PORT_POLL_INTERVAL_MS));
	}
	return new Promise(() => {});
}

export function timeoutError(ms: number): WaitError {
	return new WaitError('timeout', `it has not happened within ${ms} ms`);
}

function toRegExp(pattern: RegExp | string): RegExp {
	if (typeof pattern !== 'string' && !(pattern instanceof RegExp)) {
		throw new TypeError('option `pattern` of waitFor() must be text or a regular expression');
	}
	// Without `g` and `y`, which keep the position of the last match, and `d`, whose positions are not those of the output.
	if (typeof pattern !== 'string') return new RegExp(pattern.source, pattern.flags.replace(/[dgy]/g, ''));
	return new RegExp(pattern.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
}

function requireFiles(files: PortSource | undefined): PortSource {
	if (!files) throw new TypeError('waiting for a port needs the files of the machine');
	return files;
}

/** File access to the machine whose ports are checked. */
export interface PortSource {
	readFile(path: string): Promise<Uint8Array>;
}

/** True if a program listens on a TCP port of a Linux machine; no connection is made. */
export async function isListening(files: PortSource, port: number): Promise<boolean> {
	const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
	for (const table of TABLES) {
		const rows = (await readTable(files, table)).split('\n').map(line => line.trim().split(/\s+/));
		if (rows.some(([, address, , state]) => address?.endsWith(suffix) && state === LISTENING)) return true;
	}
	return false;
}

async function readTable(files: PortSource, table: string): Promise<string> {
	try {
		return new TextDecoder().decode(await files.readFile(table));
	} catch (error) {
		// Machines without IPv6 have no second table.
		if (table === TABLES[0]) throw error;
		return '';
	}
}
