import {readGrepPage} from '../../processes/logs/grep-page.js';
import {type LoggedEntries, type LogPlace, RetainedEntries} from '../../processes/logs/log-entries.js';
import {
	DEFAULT_LOG_PAGE_BYTES,
	type LogPage,
	MAX_LOG_PAGE_BYTES,
	type PageRequest,
	readLogPage,
} from '../../processes/logs/log-page.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import {waitForNews} from '../../processes/output/read-output.js';
import {grepLines} from '../../processes/wait/grep-lines.js';
import type {Params, ResultOnWire} from '../../protocol/methods/method-table.js';
import {encodeWithBytes, type JsonParts} from '../../protocol/wire/encode.js';
import {base64Length} from '../../shared/base64.js';
import {LongarmError} from '../../shared/errors.js';
import {accountOf} from '../auth/grant.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {isOwner, notOwnerError} from '../sharing/process-access.js';

const BEGINNING: LogPlace = {seq: 1};

export const logHandlers = {
	'process/logs': async (params, client) => {
		const {processId, from, waitMs} = params;
		const process = await client.registry.requireStarted(processId, client);
		requireTimes(process, from ?? BEGINNING);
		let place: LogPlace = from ?? BEGINNING;
		const {nextSeq} = process.log;
		const first = await readPage(process, client, params, place);
		if (waitMs === 0 || !first.isAtEnd || first.chunks.length > 0 || process.log.closedSeq !== undefined) {
			return encodeLogs(process, first);
		}
		place = {byte: first.nextByte};
		await waitForNews(process.log, nextSeq, waitMs, client.lifetime);
		const page = await readPage(process, client, params, place);
		return encodeLogs(process, {...page, missedBytes: page.missedBytes + first.missedBytes});
	},

	'process/remove': async ({processId}, client) => {
		const process = client.registry.require(processId, client);
		if (!isOwner(process, client.grant)) throw notOwnerError(process.id);
		if (process.isAlive || process.state.kind === 'exited') {
			throw new LongarmError('PROCESS_RUNNING', {
				message: `process ${process.id} has not ended`,
				context: {processId: process.id},
			});
		}
		await client.registry.remove(process);
		return {};
	},
} satisfies Handlers<ClientConnection>;

type LogParams = Params<'process/logs'>;

function readPage(
	process: ManagedProcess,
	client: ClientConnection,
	{maxBytes, stream, grep, records}: LogParams,
	place: LogPlace,
): Promise<LogPage> {
	const request: PageRequest = {
		maxBytes: Math.min(maxBytes ?? DEFAULT_LOG_PAGE_BYTES, MAX_LOG_PAGE_BYTES),
		stream: stream ?? undefined,
		wantsRecords: records,
	};
	return client.flow.reserveReply(base64Length(request.maxBytes), async () => {
		const entries: LoggedEntries = process.options.spill?.readFrom(place) ?? new RetainedEntries(process.log, place);
		try {
			if (grep == null) return readLogPage(entries, request);
			return await readGrepPage(entries, request, lines => grepLines(grep, lines, accountOf(client.grant) ?? client));
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

function encodeLogs({log}: ManagedProcess, page: LogPage): JsonParts {
	const {chunks, records, nextByte, lastSeq, isAtEnd, missedBytes} = page;
	const result: ResultOnWire<'process/logs'> = {
		chunks: chunks.map(({seq, stream, ms, bytes}) => ({seq, stream, ms: ms ?? null, chunk: bytes})),
		...(records.length > 0 && {records: records.map(toRecord)}),
		next: {seq: lastSeq + 1, byte: nextByte},
		atEnd: isAtEnd,
		...(missedBytes > 0 && {missedBytes}),
		closed: log.closedSeq !== undefined,
		exitCode: log.exit?.exitCode ?? null,
	};
	return encodeWithBytes(result);
}

function toRecord(entry: LogPage['records'][number]): NonNullable<ResultOnWire<'process/logs'>['records']>[number] {
	if (entry.kind === 'input') return {kind: 'input', ms: entry.ms, chunk: entry.bytes};
	const {ms, rows, cols} = entry;
	return {kind: 'resize', ms, rows, cols};
}
