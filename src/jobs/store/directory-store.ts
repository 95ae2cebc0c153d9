import {randomUUID} from 'node:crypto';
import {type FileHandle, open, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {makeDirectories, replaceFile} from '../../processes/spill/state-files.js';
import type {RowSource} from '../input/row-source.js';
import type {JobDescription} from '../job-description.js';
import {ItemFile} from './item-file.js';
import {ItemTable} from './item-table.js';
import {JOB_FILES, readDescription} from './job-directory.js';
import {JobLock} from './job-lock.js';
import type {JobRecord} from './job-records.js';
import type {JobStore, StoredItem} from './job-store.js';
import {Journal} from './journal.js';
import {LineFile} from './line-file.js';
import {replayJournal} from './replay-journal.js';

const PRIVATE = 0o600;

/** Everything of a description that is known before the input is read. */
export type NewJob = Omit<JobDescription, 'inputHash' | 'headers' | 'totalItems' | 'inputFormat'>;

/**
 * A job in a directory: `job.json` and `items.jsonl`, which never change, and `journal.jsonl`, to which transitions are
 * appended. Its state is the replay of the journal.
 */
export class DirectoryStore implements JobStore {
	readonly job: JobDescription;
	readonly table: ItemTable;
	readonly directory: string;
	/** Undefined for a reader, which must not append. */
	readonly lock: JobLock | undefined;
	readonly #items: ItemFile;
	readonly #journal: Journal;
	readonly #records: LineFile;
	#closing: Promise<void> | undefined;
	/** Readers of the files, and this store until it is closed. */
	#holders = 1;

	/** Reads the whole input before there is a job: one row that cannot be used, and nothing is left behind. */
	static async create(jobs: string, job: NewJob, source: RowSource): Promise<DirectoryStore> {
		makeDirectories(jobs);
		const directory = join(jobs, job.jobId);
		const partial = `${directory}.partial-${randomUUID()}`;
		makeDirectories(partial);
		const opened: FileHandle[] = [];
		try {
			const itemsFile = await open(join(partial, JOB_FILES.items), 'wx+', PRIVATE);
			opened.push(itemsFile);
			const items = await ItemFile.write(itemsFile, source, job.idColumn);
			const inputFormat = source.format;
			const read = {inputFormat, inputHash: source.digest(), headers: source.headers, totalItems: items.length};
			const description: JobDescription = {...job, ...read};
			replaceFile(join(partial, JOB_FILES.description), `${JSON.stringify(description, undefined, '\t')}\n`);
			const journal = await open(join(partial, JOB_FILES.journal), 'ax+', PRIVATE);
			opened.push(journal);
			await rename(partial, directory);
			await syncDirectory(jobs);
			const lock = JobLock.take(join(directory, JOB_FILES.lock));
			return new DirectoryStore(directory, description, new ItemTable(items.length), {items, journal, end: 0, lock});
		} catch (error) {
			await Promise.all(opened.map(file => file.close()));
			await rm(partial, {recursive: true, force: true});
			throw error;
		}
	}

	/** Opens a job to run it, or only to look. The torn end of its journal is cut off by the one that runs it. */
	static async open(jobs: string, jobId: string, mode: 'run' | 'look'): Promise<DirectoryStore> {
		const directory = join(jobs, jobId);
		const description = readDescription(directory);
		const lock = mode === 'run' ? JobLock.take(join(directory, JOB_FILES.lock)) : undefined;
		const opened: FileHandle[] = [];
		try {
			const itemsFile = await open(join(directory, JOB_FILES.items), 'r');
			opened.push(itemsFile);
			const items = await ItemFile.open(itemsFile, description.idColumn !== undefined);
			const journal = await open(join(directory, JOB_FILES.journal), lock ? 'a+' : 'r');
			opened.push(journal);
			const table = new ItemTable(items.length);
			const end = await replayJournal(journal, table);
			if (lock) await journal.truncate(end);
			return new DirectoryStore(directory, description, table, {items, journal, end, lock});
		} catch (error) {
			await Promise.all(opened.map(file => file.close()));
			lock?.release();
			throw error;
		}
	}

	private constructor(
		directory: string,
		job: JobDescription,
		table: ItemTable,
		parts: {items: ItemFile; journal: FileHandle; end: number; lock: JobLock | undefined},
	) {
		this.directory = directory;
		this.job = job;
		this.table = table;
		this.lock = parts.lock;
		this.#items = parts.items;
		this.#records = new LineFile(parts.journal);
		this.#journal = new Journal(parts.journal, parts.end);
	}

	/** Number of times the disk was waited for. */
	get syncs(): number {
		return this.#journal.syncs;
	}

	readItem(item: number): Promise<StoredItem> {
		return this.#items.read(item);
	}

	async readRecord(item: number): Promise<JobRecord | undefined> {
		const place = this.table.placeOf(item);
		if (place === undefined) return undefined;
		await this.#journal.whenWritten(place);
		return JSON.parse(await this.#records.lineAt(place)) as JobRecord;
	}

	hasItem(itemId: string): Promise<boolean> {
		return this.#items.has(itemId);
	}

	/** Number of the item with this id; undefined if there is none. */
	findItem(itemId: string): Promise<number | undefined> {
		return this.#items.find(itemId);
	}

	append(record: JobRecord): Promise<void> {
		if (!this.lock) throw new Error('the job was opened to look at it only');
		this.table.apply(record, this.#journal.end);
		return this.#journal.append(JSON.stringify(record)).synced;
	}

	/** Keeps the files open for a reader, past `close` as well, until the function that is returned is called. */
	hold(): () => Promise<void> {
		if (this.#closing) throw new Error('the job is closed');
		this.#holders++;
		return () => this.#release();
	}

	/** Settles when everything is on disk and another one may run the job; readers that hold it go on. */
	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	/** Closes the job and removes everything of it. */
	async remove(): Promise<void> {
		await this.close();
		await rm(this.directory, {recursive: true, force: true});
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #close(): Promise<void> {
		try {
			await this.#journal.settle();
		} finally {
			this.lock?.release();
			await this.#release();
		}
	}

	async #release(): Promise<void> {
		if (--this.#holders > 0) return;
		await this.#journal.close();
		await this.#items.close();
	}
}

async function syncDirectory(path: string): Promise<void> {
	const directory = await open(path, 'r');
	try {
		await directory.sync();
	} finally {
		await directory.close();
	}
}
