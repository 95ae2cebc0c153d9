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

/** Items that a runner may start next. Each is taken once, and is the runner's until it is recorded or given back. */
export interface ItemQueue {
	take(): number | undefined;
	/** An item that was taken waits again. */
	giveBack(item: number): void;
	/** Number of items the runner has room for now; a queue that fetches items from elsewhere asks for so many. */
	want(count: number): void;
}

/** A runner, told of changes to its job that others make. */
export interface StoreListener {
	/** Items have come, or were settled elsewhere. */
	wake(): void;
	/** The result of another attempt counts: the one that runs here is not wanted any more. */
	settled(item: number): void;
	cancelled(reason: string, drainMs: number): void;
}

/** Keeps a job: its rows, its transitions, and so its state. */
export interface JobStore extends AsyncDisposable {
	readonly job: JobDescription;
	/** The state after all records so far. */
	readonly table: ItemTable;
	/** Longest result as JSON; 4 MiB without this member. */
	readonly maxResultBytes?: number | undefined;
	/** Items that are best read at once; one without this member. */
	readonly readAhead?: number | undefined;
	readItem(item: number): Promise<StoredItem>;
	/** Last record about an item; undefined if there is none. */
	readRecord(item: number): Promise<JobRecord | undefined>;
	hasItem(itemId: string): Promise<boolean>;
	/**
	 * Applies the record to the state at once, or throws a `TransitionError` if it does not fit; settles when it is durable.
	 */
	append(record: JobRecord): Promise<void>;
	/**
	 * Queue of a store that several runners share, whose items come by delivery. Without this member the only runner takes
	 * pending items of the table in row order.
	 */
	openQueue?(listener: StoreListener): ItemQueue;
	/**
	 * Whether the result of every item is where it is kept, asked before the job completes. Items whose results were lost wait
	 * again. A store without this member loses none.
	 */
	confirmResults?(): Promise<boolean>;
	close(): Promise<void>;
}
