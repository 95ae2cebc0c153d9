import {type JobRecord, type JobStatus, type RecordOf, STOPPED_BY_WORKER} from './job-records.js';

/** State of an item. */
export type ItemStatus = 'pending' | 'running' | 'completed' | 'failed';

const STATUSES: readonly ItemStatus[] = ['pending', 'running', 'completed', 'failed'];
const CODES: Readonly<Record<ItemStatus, number>> = {pending: 0, running: 1, completed: 2, failed: 3};
const MAX_COUNTED = 2 ** 16 - 1;
const NO_RECORD = -1;

/** Number of items in each state. */
export type ItemCounts = Readonly<Record<ItemStatus, number>>;

/** A record does not fit the state it is applied to. */
export class TransitionError extends Error {
	override readonly name = 'TransitionError';
}

/**
 * State of a job: replay of its journal. An item takes 13 bytes. A record is applied to it in one step, by the runner as
 * by the replay, and only if the state allows it.
 */
export class ItemTable {
	readonly total: number;
	/** Sessions at executors, by their names. */
	readonly sessions = new Map<string, string>();
	readonly #statuses: Uint8Array;
	readonly #attempts: Uint16Array;
	/** Retries that were used up. */
	readonly #retries: Uint16Array;
	/** Place of the last record of the item in the journal. */
	readonly #places: Float64Array;
	readonly #counts: Record<ItemStatus, number>;
	#status: JobStatus = 'pending';
	#cancelReason: string | undefined;
	#error: string | undefined;
	#startedAt: number | undefined;
	#lastAt = 0;

	constructor(total: number) {
		this.total = total;
		this.#statuses = new Uint8Array(total);
		this.#attempts = new Uint16Array(total);
		this.#retries = new Uint16Array(total);
		this.#places = new Float64Array(total).fill(NO_RECORD);
		this.#counts = {pending: total, running: 0, completed: 0, failed: 0};
	}

	get status(): JobStatus {
		return this.#status;
	}

	/** Set as soon as no more items are to be started. */
	get cancelReason(): string | undefined {
		return this.#cancelReason;
	}

	/** Why the job failed. */
	get error(): string | undefined {
		return this.#error;
	}

	get counts(): ItemCounts {
		return this.#counts;
	}

	get startedAt(): number | undefined {
		return this.#startedAt;
	}

	/** Time of the last record. */
	get lastAt(): number {
		return this.#lastAt;
	}

	statusOf(item: number): ItemStatus {
		return STATUSES[this.#statuses[item]!]!;
	}

	isPending(item: number): boolean {
		return this.#statuses[item] === CODES.pending;
	}

	attemptsOf(item: number): number {
		return this.#attempts[item]!;
	}

	retriesOf(item: number): number {
		return this.#retries[item]!;
	}

	/** Undefined if no record is about the item. */
	placeOf(item: number): number | undefined {
		const place = this.#places[item]!;
		return place === NO_RECORD ? undefined : place;
	}

	/** Numbers of the items in a state, in their order. */
	*itemsIn(status: ItemStatus): Generator<number, void, void> {
		const code = CODES[status];
		for (let item = this.#statuses.indexOf(code); item >= 0; item = this.#statuses.indexOf(code, item + 1)) yield item;
	}

	/** Attempts and used retries of an item, as another runner counted them. */
	restore(item: number, attempts: number, retries: number): void {
		this.#attempts[item] = Math.min(attempts, MAX_COUNTED);
		this.#retries[item] = Math.min(retries, MAX_COUNTED);
	}

	/** The result of an item that counts among those of several runners, whatever this one took its state to be. */
	settle(item: number, status: 'completed' | 'failed', place: number): void {
		const from = this.statusOf(item);
		this.#statuses[item] = CODES[status];
		this.#places[item] = place;
		this.#counts[from]--;
		this.#counts[status]++;
	}

	/** The result of an item was lost: it waits again. */
	reopen(item: number): void {
		const from = this.statusOf(item);
		this.#statuses[item] = CODES.pending;
		this.#places[item] = NO_RECORD;
		this.#counts[from]--;
		this.#counts.pending++;
	}

	/** Throws a `TransitionError`, and changes nothing, if the state does not allow it. */
	apply(record: JobRecord, place: number): void {
		this.#applyByType(record, place);
		this.#lastAt = record.at;
	}

	#applyByType(record: JobRecord, place: number): void {
		switch (record.type) {
			case 'run':
				return this.#run(record);
			case 'session':
				this.sessions.set(record.executor, record.session);
				return;
			case 'claim':
				if (this.#cancelReason !== undefined) throw wrong(record, 'the job is cancelled');
				this.#requireRunningJob(record);
				this.#move(record, 'pending', 'running', place);
				this.#attempts[record.item] = Math.min(record.attempt, MAX_COUNTED);
				return;
			case 'report':
				this.#requireRunningJob(record);
				this.#move(record, 'running', 'completed', place);
				if (record.stop) this.#cancelReason ??= STOPPED_BY_WORKER;
				return;
			case 'fail':
				this.#requireRunningJob(record);
				return this.#move(record, 'running', 'failed', place);
			case 'requeue':
				this.#requireRunningJob(record);
				this.#move(record, 'running', 'pending', place);
				if (record.counts) this.#retries[record.item] = Math.min(this.#retries[record.item]! + 1, MAX_COUNTED);
				return;
			case 'cancel':
				this.#requireRunningJob(record);
				this.#cancelReason ??= record.reason;
				return;
			case 'done':
				return this.#finish(record);
			default:
				// A record of a later version: what it means is not known.
				throw new TransitionError(`unknown record \`${String((record as {type?: unknown}).type)}\``);
		}
	}

	#run(record: RecordOf<'run'>): void {
		this.#status = 'running';
		this.#startedAt ??= record.at;
		this.#cancelReason = undefined;
		this.#error = undefined;
		if (record.retryFailed) for (const item of this.itemsIn('failed')) this.#retryFailed(item);
	}

	#retryFailed(item: number): void {
		this.#statuses[item] = CODES.pending;
		this.#retries[item] = 0;
		this.#counts.failed--;
		this.#counts.pending++;
	}

	/** A job that is cancelled cannot complete any more. */
	#finish(record: RecordOf<'done'>): void {
		this.#requireRunningJob(record);
		if (record.status === 'completed') this.#requireAllDone(record);
		this.#status = record.status;
		this.#error = record.error;
	}

	#requireAllDone(record: JobRecord): void {
		if (this.#cancelReason !== undefined) throw wrong(record, 'the job is cancelled');
		const {pending, running} = this.#counts;
		if (pending + running > 0) throw wrong(record, `${pending + running} items are not done`);
	}

	#requireRunningJob(record: JobRecord): void {
		if (this.#status !== 'running') throw wrong(record, `the job is ${this.#status}`);
	}

	#move(record: JobRecord & {readonly item: number}, from: ItemStatus, to: ItemStatus, place: number): void {
		const {item} = record;
		if (!(item >= 0 && item < this.total)) throw wrong(record, `there is no item ${item}`);
		if (this.#statuses[item] !== CODES[from]) throw wrong(record, `item ${item} is ${this.statusOf(item)}`);
		this.#statuses[item] = CODES[to];
		this.#places[item] = place;
		this.#counts[from]--;
		this.#counts[to]++;
	}
}

function wrong({type}: JobRecord, why: string): TransitionError {
	return new TransitionError(`record \`${type}\` is out of place: ${why}`);
}
