import {mkdir, open, rename, rm} from 'node:fs/promises';
import {basename, dirname, extname, join} from 'node:path';
import {Yielder} from '../../shared/node/yielder.js';
import {uniquePartialFileName} from '../../shared/partial-file-name.js';
import {toText} from '../input/template.js';
import type {JobRecord} from '../store/job-records.js';
import type {JobStore} from '../store/job-store.js';

/** Bytes that are written at once. */
const WRITE_CHARACTERS = 256 * 1024;
/** Columns behind those of the input. */
const JOB_COLUMNS = [
	'job_id',
	'item_id',
	'row_index',
	'source_id',
	'status',
	'attempt_count',
	'last_error',
	'result_json',
	'reported_at',
	'completed_at',
] as const;
const OWN_COLUMNS = ['executor', 'exit_code', 'duration_ms'] as const;

/** Options of `exportJob`. */
export interface ExportOptions {
	/** Without the columns executor, exit_code and duration_ms. */
	readonly strictColumns?: boolean | undefined;
}

type OutputValues = Readonly<Record<(typeof JOB_COLUMNS)[number] | (typeof OWN_COLUMNS)[number], unknown>>;

/**
 * Writes all items in row order, with what became of them: as CSV, or as JSON lines if the path ends in `.jsonl`. The file
 * is replaced in one step. Rows and results are streamed.
 */
export async function exportJob(store: JobStore, path: string, options: ExportOptions = {}): Promise<void> {
	await mkdir(dirname(path), {recursive: true});
	const partial = join(dirname(path), uniquePartialFileName(basename(path)));
	const file = await open(partial, 'wx');
	try {
		try {
			for await (const text of gather(exportLines(store, isJsonLines(path), options))) await file.appendFile(text);
			await file.datasync();
		} finally {
			await file.close();
		}
		await rename(partial, path);
	} catch (error) {
		await rm(partial, {force: true});
		throw error;
	}
}

function isJsonLines(path: string): boolean {
	return extname(path).toLowerCase() === '.jsonl';
}

async function* gather(lines: AsyncIterable<string>): AsyncGenerator<string, void, void> {
	const yielder = new Yielder();
	let text = '';
	for await (const line of lines) {
		text += `${line}\n`;
		if (text.length < WRITE_CHARACTERS) continue;
		yield text;
		text = '';
		await yielder.yieldIfDue();
	}
	if (text !== '') yield text;
}

/** Lines of the output, without their ends. */
export async function* exportLines(
	store: JobStore,
	asJson: boolean,
	{strictColumns}: ExportOptions = {},
): AsyncGenerator<string, void, void> {
	const {headers} = store.job;
	const columns = strictColumns ? JOB_COLUMNS : [...JOB_COLUMNS, ...OWN_COLUMNS];
	if (!asJson) yield toCsvLine([...headers, ...columns]);
	for await (const [{row}, values] of readAhead(store)) {
		if (asJson)
			yield JSON.stringify({...row, ...Object.fromEntries(columns.map(name => [name, values[name] ?? null]))});
		else yield toCsvLine([...headers.map(name => row[name]), ...columns.map(name => values[name])]);
	}
}

/** Of a store across a network several items are read at once. */
async function* readAhead(store: JobStore) {
	const {readAhead: count = 1, table} = store;
	const reading: ReturnType<typeof readValues>[] = [];
	for (let item = 0; item < table.total; item++) {
		const values = readValues(store, item);
		// A rejection is told when its turn comes.
		values.catch(() => {});
		reading.push(values);
		if (reading.length >= count) yield await reading.shift()!;
	}
	for (const values of reading) yield await values;
}

async function readValues(store: JobStore, item: number) {
	const {table, job} = store;
	// Read before the record, which may be that of a later state: the two are only told apart by its type.
	const [stored, record] = await Promise.all([store.readItem(item), store.readRecord(item)]);
	const end = record?.type === 'report' || record?.type === 'fail' ? record : undefined;
	const values: OutputValues = {
		job_id: job.jobId,
		item_id: stored.itemId,
		row_index: item,
		source_id: stored.sourceId,
		status: statusOf(record),
		attempt_count: table.attemptsOf(item),
		last_error: record?.type === 'fail' || record?.type === 'requeue' ? record.error : undefined,
		result_json: record?.type === 'report' ? JSON.stringify(record.result) : undefined,
		reported_at: record?.type === 'report' ? toTime(record.at) : undefined,
		completed_at: end && toTime(end.at),
		executor: record?.type === 'claim' || end ? (record as {executor: string}).executor : undefined,
		exit_code: end?.code,
		duration_ms: end?.ms,
	};
	return [stored, values] as const;
}

/** The state after the record, so that a line is right by itself while the job goes on. */
function statusOf(record: JobRecord | undefined): string {
	if (record?.type === 'claim') return 'running';
	if (record?.type === 'report') return 'completed';
	return record?.type === 'fail' ? 'failed' : 'pending';
}

/** RFC 3339 in whole seconds. */
function toTime(ms: number): string {
	return `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
}

/** Quotes only what needs them. */
function toCsvLine(values: readonly unknown[]): string {
	return values.map(value => quoteField(toText(value))).join(',');
}

function quoteField(text: string): string {
	return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
