import type {ParamsOnWire} from '../../protocol/methods/method-table.js';
import {abortable} from '../../shared/async/timeout.js';
import {readOptions, toMilliseconds} from '../../shared/call-options.js';
import {requireCapability} from '../session/require-capability.js';
import type {ProcessAsker} from './process-session.js';
import {
	LOG_OPTIONS,
	LOGGED_PAGE_OPTIONS,
	type LogEntry,
	type LoggedPage,
	type LoggedPageOptions,
	type LogOptions,
} from './shared-process.js';

/** Output of one page. */
const LOG_PAGE_BYTES = 1024 * 1024;
/** Longest wait of one question for output that is not written yet. */
const LOG_WAIT_MS = 30_000;

type LogStart = NonNullable<ParamsOnWire<'process/logs'>['from']>;

/** Throws a `TypeError` for options that cannot be meant, before anything is asked. */
export function readLogs(
	process: {readonly processId: string},
	session: ProcessAsker,
	options: LogOptions = {},
): AsyncIterableIterator<LogEntry> {
	const {stream, follow = false, signal} = readOptions<LogOptions>(options, LOG_OPTIONS, 'logs()');
	const grep = options.grep === undefined ? undefined : toSource(options.grep);
	const start = toLogStart(options);
	return readPages(process, session, {start, follow, signal, filter: {...(stream && {stream}), ...(grep && {grep})}});
}

/** One page of the logged output of a process; see `LoggedPageOptions`. */
export async function fetchLogPage(
	{processId}: {readonly processId: string},
	session: ProcessAsker,
	options: LoggedPageOptions = {},
): Promise<LoggedPage> {
	const {from, tail, maxBytes, wait, signal} = readOptions<LoggedPageOptions>(
		options,
		LOGGED_PAGE_OPTIONS,
		'logPage()',
	);
	if (from !== undefined && tail !== undefined)
		throw new TypeError('options `from` and `tail` of logPage() exclude each other');
	requireCapability((await session.describe()).capabilities, 'processSpill', 'logPage()');
	const request = {
		processId,
		from: tail === undefined ? {byte: from ?? 0} : {tail},
		maxBytes: Math.max(1, maxBytes ?? LOG_PAGE_BYTES),
		waitMs: Math.round(wait ?? 0),
	};
	const page = await abortable(session.repeat('process/logs', request), signal);
	return {
		pieces: page.chunks.map(({seq, stream, chunk}) => ({seq, stream, bytes: chunk})),
		next: page.next,
		missedBytes: page.missedBytes ?? 0,
		isAtEnd: page.atEnd,
		isClosed: page.closed,
		exitCode: page.exitCode ?? undefined,
	};
}

interface LogRequest {
	readonly start: LogStart | undefined;
	readonly follow: boolean;
	readonly signal: AbortSignal | undefined;
	readonly filter: Pick<ParamsOnWire<'process/logs'>, 'stream' | 'grep'>;
}

async function* readPages(
	process: {readonly processId: string},
	session: ProcessAsker,
	{start, follow, signal, filter}: LogRequest,
): AsyncGenerator<LogEntry, void, void> {
	signal?.throwIfAborted();
	requireCapability((await session.describe()).capabilities, 'processSpill', 'logs()');
	let from = start;
	let waitMs = 0;
	for (;;) {
		const {processId} = process;
		const request = {processId, ...(from && {from}), maxBytes: LOG_PAGE_BYTES, waitMs, ...filter};
		const page = await abortable(session.repeat('process/logs', request), signal);
		if (page.missedBytes) yield {kind: 'gap', missedBytes: page.missedBytes};
		for (const {seq, stream, ms, chunk} of page.chunks)
			yield {kind: 'output', seq, stream, ms: ms ?? undefined, bytes: chunk};
		if (page.atEnd && (page.closed || !follow)) return;
		// Bytes, because a page may end inside of an event.
		from = {byte: page.next.byte};
		if (page.atEnd) waitMs = LOG_WAIT_MS;
	}
}

function toLogStart({from, tail, since}: LogOptions): LogStart | undefined {
	if ([from, tail, since].filter(value => value !== undefined).length > 1) {
		throw new TypeError('options `from`, `tail` and `since` of logs() exclude each other');
	}
	if (from !== undefined) return {seq: from};
	if (tail !== undefined) return {tail};
	if (since === undefined) return undefined;
	return {ms: since instanceof Date ? since.getTime() : Date.now() - toMilliseconds(since, 'option `since` of logs()')};
}

/** Text is looked for as it is. */
function toSource(grep: RegExp | string): string {
	if (typeof grep === 'string') return grep.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&');
	if (!(grep instanceof RegExp)) throw new TypeError('option `grep` of logs() must be text or a regular expression');
	if (grep.flags.replace(/[gy]/g, '') === '') return grep.source;
	throw new TypeError('an expression for option `grep` of logs() has no flags');
}
