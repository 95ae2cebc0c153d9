import {readGrepPage} from '../processes/logs/grep-page.js';
import {type LoggedEntries, type LogPlace, RetainedEntries} from '../processes/logs/log-entries.js';
import {
	DEFAULT_LOG_PAGE_BYTES,
	type LogPage,
	MAX_LOG_PAGE_BYTES,
	type PageRequest,
	readLogPage,
} from '../processes/logs/log-page.js';
import type {ManagedProcess} from '../processes/managed-process.js';
import {waitForNews} from '../processes/output/read-output.js';
import {grepLines} from '../processes/wait/grep-lines.js';
import type {Params, ResultOnWire} from '../protocol/methods/method-table.js';
import type {Lifetime} from '../shared/async/lifetime.js';
import {LongarmError} from '../shared/errors.js';

const BEGINNING: LogPlace = {seq: 1};

/** The client that asks for logged output. */
export interface LogReader {
	readonly lifetime: Lifetime;
	/** Patterns of one account share a thread. */
	readonly account: unknown;
	/** Makes a page when there is room for so many bytes. */
	readonly reserve: (bytes: number, make: () => Promise<LogPage>) => Promise<LogPage>;
}

type LogParams = Params<'process/logs'>;

/** The page that `process/logs` asks for; its bytes are borrowed and have to be used at once. */
export async function readLoggedPage(process: ManagedProcess, params: LogParams, reader: LogReader): Promise<LogPage> {
	const {from, waitMs} = params;
	requireTimes(process, from ?? BEGINNING);
	const {nextSeq} = process.log;
	const first = await readPage(process, params, from ?? BEGINNING, reader);
	const hasAnswer = !first.isAtEnd || first.chunks.length > 0 || process.log.closedSeq !== undefined;
	if (waitMs === 0 || hasAnswer) return first;
	await waitForNews(process.log, nextSeq, waitMs, reader.lifetime);
	const page = await readPage(process, params, {byte: first.nextByte}, reader);
	return {...page, missedBytes: page.missedBytes + first.missedBytes};
}

/** A page as `process/logs` answers it. */
export function describeLoggedPage({log}: ManagedProcess, page: LogPage): ResultOnWire<'process/logs'> {
	const {chunks, records, nextByte, lastSeq, isAtEnd, missedBytes} = page;
	return {
		chunks: chunks.map(({seq, stream, ms, bytes}) => ({seq, stream, ms: ms ?? null, chunk: bytes})),
		...(records.length > 0 && {records: records.map(toRecord)}),
		next: {seq: lastSeq + 1, byte: nextByte},
		atEnd: isAtEnd,
		...(missedBytes > 0 && {missedBytes}),
		closed: log.closedSeq !== undefined,
		exitCode: log.exit?.exitCode ?? null,
	};
}

/** Throws `PROCESS_RUNNING` unless a process and all its output have ended. */
export function requireEnded({id, isAlive, state}: ManagedProcess): void {
	if (!isAlive && state.kind !== 'exited') return;
	throw new LongarmError('PROCESS_RUNNING', {message: `process ${id} has not ended`, context: {processId: id}});
}

function readPage(
	process: ManagedProcess,
	{maxBytes, stream, grep, records}: LogParams,
	place: LogPlace,
	{account, reserve}: LogReader,
): Promise<LogPage> {
	const request: PageRequest = {
		maxBytes: Math.min(maxBytes ?? DEFAULT_LOG_PAGE_BYTES, MAX_LOG_PAGE_BYTES),
		stream: stream ?? undefined,
		wantsRecords: records,
	};
	return reserve(request.maxBytes, async () => {
		const entries: LoggedEntries = process.options.spill?.readFrom(place) ?? new RetainedEntries(process.log, place);
		try {
			if (grep == null) return readLogPage(entries, request);
			return await readGrepPage(entries, request, lines => grepLines(grep, lines, account));
		} finally {
			entries.close();
		}
	});
}

/** Times are known of output on disk only; without them nothing could be left out. */
function requireTimes(process: ManagedProcess, place: LogPlace): void {
	if (!('ms' in place) || process.options.spill) return;
	throw new LongarmError('NOT_SUPPORTED', {message: `process ${process.id} keeps no times: start it with spill`});
}

function toRecord(entry: LogPage['records'][number]): NonNullable<ResultOnWire<'process/logs'>['records']>[number] {
	if (entry.kind === 'input') return {kind: 'input', ms: entry.ms, chunk: entry.bytes};
	const {ms, rows, cols} = entry;
	return {kind: 'resize', ms, rows, cols};
}
