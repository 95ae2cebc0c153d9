import type {ItemRow} from '../item-worker.js';
import type {JobDescription} from '../job-description.js';
import type {ItemTable} from './item-table.js';
import type {JobRecord} from './job-records.js';

/** An item as it was read from the input. */
export interface StoredItem {
	readonly itemId: string;
	/** Value of the id column as it stands there; null without one. */
	readonly sourceId: string | null;
	readonly row: ItemRow;
}

/** Keeps a job: its rows, its transitions, and so its state. */
export interface JobStore extends AsyncDisposable {
	readonly job: JobDescription;
	/** The state after all records so far. */
	readonly table: ItemTable;
	readItem(item: number): Promise<StoredItem>;
	/** Last record about an item; undefined if there is none. */
	readRecord(item: number): Promise<JobRecord | undefined>;
	hasItem(itemId: string): Promise<boolean>;
	/**
	 * Applies the record to the state at once, or throws a `TransitionError` if it does not fit; settles when it is durable.
	 */
	append(record: JobRecord): Promise<void>;
	close(): Promise<void>;
}
