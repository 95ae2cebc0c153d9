import type {Result} from '../../protocol/methods/method-table.js';
import {abortable} from '../../shared/async/timeout.js';
import {LongarmError} from '../../shared/errors.js';
import type {RecordedEntry} from '../recording/recording.js';
import {RejectedError} from '../session/client-errors.js';
import {requireCapability} from '../session/require-capability.js';
import type {ProcessAsker} from './process-session.js';
import type {RecordingEntry, ScreenSize} from './shared-process.js';

/** Output of one page. */
const RECORDING_PAGE_BYTES = 1024 * 1024;

type LogPage = Result<'process/logs'>;

/** All that is kept of a process up to now: output, sizes of its terminal, input if that was recorded, and its exit. */
export async function* readRecording(
	{processId}: {readonly processId: string},
	session: ProcessAsker,
	{signal}: {readonly signal?: AbortSignal | undefined} = {},
): AsyncGenerator<RecordingEntry, void, void> {
	signal?.throwIfAborted();
	requireCapability((await session.describe()).capabilities, 'processSpill', 'recording()');
	let firstSize = await abortable(findFirstSize(processId, session), signal);
	let byte = 0;
	let lastMs = 0;
	for (;;) {
		const request = {processId, from: {byte}, maxBytes: RECORDING_PAGE_BYTES, records: true};
		const page = await abortable(session.repeat('process/logs', request), signal);
		if (page.missedBytes) yield {kind: 'gap', missedBytes: page.missedBytes};
		for (const entry of inOrder(page)) {
			if (firstSize) yield {kind: 'resize', ms: entry.ms, ...firstSize};
			firstSize = undefined;
			lastMs = Math.max(lastMs, entry.ms);
			yield entry;
		}
		if (page.atEnd) {
			if (page.closed && page.exitCode !== null) yield {kind: 'exit', ms: lastMs, exitCode: page.exitCode};
			return;
		}
		byte = page.next.byte;
	}
}

/** Size of the terminal at the start, of which there is no entry; undefined without a terminal. */
async function findFirstSize(processId: string, session: ProcessAsker): Promise<ScreenSize | undefined> {
	if ((await session.describe()).capabilities['processScreen'] !== true) return undefined;
	try {
		const {rows, cols} = await session.repeat('process/screen', {processId, atSeq: 0});
		return {rows, cols};
	} catch (error) {
		if (error instanceof RejectedError && error.errorCode === 'NO_TERMINAL') return undefined;
		throw error;
	}
}

/** By time; of the same time, a size comes before the output that was written for it. */
function inOrder({chunks, records = []}: LogPage): RecordedEntry[] {
	const entries: RecordedEntry[] = [
		...records.map(
			(record): RecordedEntry =>
				record.kind === 'resize' ? record : {kind: 'input', ms: record.ms, bytes: record.chunk},
		),
		...chunks.map(({ms, chunk}): RecordedEntry => ({kind: 'output', ms: requireTime(ms), bytes: chunk})),
	];
	return entries.sort((one, other) => one.ms - other.ms);
}

/** Only output on disk has times. */
function requireTime(ms: number | null): number {
	if (ms !== null) return ms;
	throw new LongarmError('NOT_SUPPORTED', {message: 'of this process no times are kept: start it with record'});
}
