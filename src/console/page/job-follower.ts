import {type Signal, signal} from '@preact/signals';
import type {Files} from '../../client/files/files.js';
import type {JobDescription} from '../../jobs/job-description.js';
import {type ItemCounts, type ItemStatus, ItemTable} from '../../jobs/store/item-table.js';
import type {JobRecord, JobStatus} from '../../jobs/store/job-records.js';
import {readBytes} from './directory-state.js';
import {childOf} from './shown-paths.js';
import {toErrorText} from './shown-text.js';

const POLL_MS = 1000;
const MAX_DESCRIPTION_BYTES = 4 * 1024 * 1024;
/** Bytes of the journal that are read at once; a job with more catches up over several looks. */
const MAX_READ_BYTES = 4 * 1024 * 1024;
/** Bytes of the rows that are read for their ids; rows beyond are shown by number. */
const MAX_ITEMS_BYTES = 8 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Outcome of an item that has one. */
export interface ItemOutcome {
	readonly text: string;
	readonly ms: number;
	readonly executor: string;
}

export interface JobView {
	readonly job: JobDescription;
	readonly status: JobStatus;
	readonly counts: ItemCounts;
	readonly error: string | undefined;
	readonly startedAt: number | undefined;
	readonly lastAt: number;
	/** Whether the whole journal was read. */
	readonly isCurrent: boolean;
	/** Counts the looks, so that lists are made anew once per look and not once per item. */
	readonly version: number;
}

export type JobState =
	| {readonly kind: 'loading'}
	| {readonly kind: 'failed'; readonly reason: string}
	| {readonly kind: 'shown'; readonly view: JobView};

type JobReader = Pick<Files, 'readStream'>;

/**
 * Follows a job by the files it keeps: its state is the replay of its journal, as for the runner itself. Whatever happens
 * between two looks is one change of the page.
 */
export class JobFollower {
	readonly state: Signal<JobState> = signal<JobState>({kind: 'loading'});
	/** Outcome by number of the item. */
	readonly outcomes = new Map<number, ItemOutcome>();
	readonly #files: JobReader;
	readonly #directory: string;
	#job: JobDescription | undefined;
	#table: ItemTable | undefined;
	#ids: readonly string[] = [];
	#offset = 0;
	#version = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#isClosed = false;

	constructor(files: JobReader, directory: string) {
		this.#files = files;
		this.#directory = directory;
	}

	/** Looks again and again until it is closed. */
	async follow(): Promise<void> {
		while (!this.#isClosed) {
			const isCurrent = await this.look();
			if (this.#isClosed) return;
			if (isCurrent) {
				await new Promise(resolve => {
					this.#timer = setTimeout(resolve, POLL_MS);
				});
			}
		}
	}

	close(): void {
		this.#isClosed = true;
		clearTimeout(this.#timer);
	}

	/** Reads what is new; false if there is more. */
	async look(): Promise<boolean> {
		try {
			this.#job ??= await this.#readDescription();
			this.#table ??= new ItemTable(this.#job.totalItems);
			const bytes = await readBytes(this.#files as Files, this.#pathOf('journal.jsonl'), MAX_READ_BYTES, this.#offset);
			const end = bytes.lastIndexOf(NEWLINE) + 1;
			this.#apply(new TextDecoder().decode(bytes.subarray(0, end)));
			this.#offset += end;
			const isCurrent = bytes.length < MAX_READ_BYTES;
			if (end > 0 || this.state.value.kind !== 'shown') this.#show(isCurrent);
			return isCurrent;
		} catch (error) {
			this.state.value = {kind: 'failed', reason: toErrorText(error)};
			return true;
		}
	}

	/** Numbers of the items in a state, the first so many. */
	itemsIn(status: ItemStatus, max: number): number[] {
		const found: number[] = [];
		for (const item of this.#table?.itemsIn(status) ?? []) {
			if (found.length >= max) break;
			found.push(item);
		}
		return found;
	}

	idOf(item: number): string {
		return this.#ids[item] ?? `row-${item + 1}`;
	}

	/** Output of the last attempt at an item. */
	async readLog(item: number): Promise<string> {
		const attempt = this.#table?.attemptsOf(item) ?? 0;
		const name = `${item + 1}-${this.idOf(item)
			.replaceAll(/[^\w.-]/g, '_')
			.slice(0, 80)}.${attempt}`;
		const parts = await Promise.all(['out', 'err'].map(stream => this.#readLogFile(`${name}.${stream}`)));
		return parts.filter(text => text !== '').join('\n') || 'There is no output of this item.';
	}

	async #readLogFile(name: string): Promise<string> {
		try {
			const path = childOf(childOf(this.#directory, 'logs'), name);
			return new TextDecoder().decode(await readBytes(this.#files as Files, path, MAX_READ_BYTES));
		} catch {
			// There is no file for a stream without output.
			return '';
		}
	}

	async #readDescription(): Promise<JobDescription> {
		const bytes = await readBytes(this.#files as Files, this.#pathOf('job.json'), MAX_DESCRIPTION_BYTES);
		const job = JSON.parse(new TextDecoder().decode(bytes)) as JobDescription;
		if (job.format !== 1) throw new Error('the job is one of another version');
		if (job.idColumn !== undefined) this.#ids = await this.#readIds();
		return job;
	}

	async #readIds(): Promise<string[]> {
		const bytes = await readBytes(this.#files as Files, this.#pathOf('items.jsonl'), MAX_ITEMS_BYTES);
		const lines = new TextDecoder().decode(bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1)).split('\n');
		return lines.filter(Boolean).map(line => (JSON.parse(line) as {item_id: string}).item_id);
	}

	#apply(lines: string): void {
		for (const line of lines.split('\n')) {
			if (line === '') continue;
			const record = JSON.parse(line) as JobRecord;
			this.#table!.apply(record, 0);
			if (record.type === 'fail') {
				this.outcomes.set(record.item, {text: record.error, ms: record.ms, executor: record.executor});
			}
			if (record.type === 'report') {
				const text = JSON.stringify(record.result) ?? '';
				this.outcomes.set(record.item, {text, ms: record.ms, executor: record.executor});
			}
		}
	}

	#show(isCurrent: boolean): void {
		const {status, counts, error, startedAt, lastAt} = this.#table!;
		const view = {job: this.#job!, status, counts: {...counts}, error, startedAt, lastAt, isCurrent};
		this.state.value = {kind: 'shown', view: {...view, version: ++this.#version}};
	}

	#pathOf(name: string): string {
		return childOf(this.#directory, name);
	}
}
