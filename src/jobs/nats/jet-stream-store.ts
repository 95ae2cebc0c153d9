import type {StoredMsg} from '@nats-io/jetstream';
import {waitAtMost} from '../../shared/async/timeout.js';
import type {JobDescription} from '../job-description.js';
import {summarizeJob} from '../output/job-summary.js';
import {ItemTable} from '../store/item-table.js';
import {type JobRecord, type RecordOf, STOPPED_BY_WORKER} from '../store/job-records.js';
import type {ItemQueue, JobStore, StoredItem, StoreListener} from '../store/job-store.js';
import {ACK_WAIT_MS, ItemDeliveries, itemConsumer, itemConsumerName} from './item-deliveries.js';
import type {JetStreamLink} from './jet-stream-link.js';
import {JobRows} from './job-inputs.js';
import {itemOf, type JobSubjects} from './job-subjects.js';
import {countKeptItems, markKeptItems} from './kept-items.js';
import {type ControlRecord, RESULT_HEADERS, type SharedJob} from './shared-job.js';
import {type ReadMessage, StreamReader} from './stream-reader.js';

/** Longest result: it travels in one message, of which brokers take 1 MiB by default. */
export const MAX_SHARED_RESULT_BYTES = 512 * 1024;
const NO_PLACE = -1;
/** How often the end of other runners' items is looked for, and how long. */
const OTHERS_MS = 250;
const MAX_OTHERS_MS = ACK_WAIT_MS + 5000;
/** Pause before a result is published again that is refused although there is none. */
const REFUSED_AGAIN_MS = 250;
/** After so many refusals a result is published without a condition. */
const MAX_REFUSALS = 4;

export interface JetStreamStoreOptions {
	readonly link: JetStreamLink;
	readonly subjects: JobSubjects;
	readonly shared: SharedJob;
	/** The stream cannot be read; the job cannot go on here. */
	readonly onError: (error: unknown) => void;
}

/**
 * A job in JetStream, which any number of runners share. Its state is the fold of the stream of results: of each item the
 * first message in the order of the stream counts. Claims are deliveries of the queue and recorded nowhere else.
 */
export class JetStreamStore implements JobStore {
	readonly job: JobDescription;
	readonly table: ItemTable;
	readonly rows: JobRows;
	readonly maxResultBytes = MAX_SHARED_RESULT_BYTES;
	readonly readAhead = 64;
	/** Called with each item whose result is known from now on. */
	onSettled: (item: number) => void = () => {};
	/** Called when results turn out to be lost. */
	onReopened: () => void = () => {};
	readonly #options: JetStreamStoreOptions;
	readonly #reader: StreamReader;
	/** Items whose result is in the stream. */
	readonly #settled: Uint8Array;
	#settledCount = 0;
	/** Records of this runner that are not in the stream, or not read from it. */
	readonly #own = new Map<number, JobRecord>();
	#deliveries: ItemDeliveries | undefined;
	#listener: StoreListener | undefined;
	#cancel: {readonly reason: string; readonly drainMs: number} | undefined;
	#isDone = false;
	#closing: Promise<void> | undefined;

	/** Settles when all results so far are read. */
	static async open(options: JetStreamStoreOptions): Promise<JetStreamStore> {
		const store = new JetStreamStore(options);
		try {
			await store.#reader.caughtUp;
			return store;
		} catch (error) {
			await store.close();
			throw error;
		}
	}

	private constructor(options: JetStreamStoreOptions) {
		this.#options = options;
		const {link, subjects, shared, onError} = options;
		this.job = shared.job;
		this.table = new ItemTable(shared.job.totalItems);
		this.table.apply({type: 'run', at: shared.job.createdAtMs}, NO_PLACE);
		this.#settled = new Uint8Array(shared.job.totalItems);
		this.rows = new JobRows(link, subjects, shared.job.jobId, shared.rows);
		this.#reader = new StreamReader({
			link,
			stream: subjects.resultStream,
			filter: subjects.result(shared.job.jobId, '*'),
			headersOnly: true,
			onMessage: message => this.#fold(message),
			onError,
		});
	}

	isSettled(item: number): boolean {
		return this.#settled[item] === 1;
	}

	/** Number of items whose result is in the stream, as far as is known here. */
	get settledCount(): number {
		return this.#settledCount;
	}

	/** Whether every result that is in the stream now is known here. */
	isCaughtUp(): Promise<boolean> {
		return this.#reader.isCaughtUp();
	}

	/** Asks for the result of an item that the reader may have missed; false if there is none. */
	async findResult(item: number): Promise<boolean> {
		const message = await this.#findFirst(item);
		if (!message) return false;
		const {subject, seq, data} = message;
		this.#fold({subject, seq, data, header: name => message.header.get(name) || undefined});
		return true;
	}

	async confirmResults(): Promise<boolean> {
		const {link, subjects} = this.#options;
		const {total} = this.table;
		const filter = subjects.result(this.job.jobId, '*');
		// Another runner has seen to it.
		if (this.#isDone || (await countKeptItems(link, subjects.resultStream, filter)) >= total) return true;
		const kept = await markKeptItems(link, subjects.resultStream, filter, total);
		if (this.#isDone || !kept.includes(0)) return true;
		for (let item = kept.indexOf(0); item >= 0; item = kept.indexOf(0, item + 1)) this.#reopen(item);
		this.onReopened();
		return false;
	}

	openQueue(listener: StoreListener): ItemQueue {
		const {link, subjects, shared, onError} = this.#options;
		const {jobId, rules} = this.job;
		this.#listener = listener;
		this.#deliveries = new ItemDeliveries({
			link,
			stream: subjects.queueStream,
			consumer: itemConsumer(jobId, subjects.queued(shared.pool, jobId, '*'), rules.maxConcurrency),
			table: this.table,
			isSettled: item => this.isSettled(item),
			readRetries: item => this.#readRetries(item),
			onDoneBefore: item => this.#checkResult(item),
			wake: () => listener.wake(),
			onError,
		});
		return this.#deliveries;
	}

	/** Takes over the record of a cancellation or an end, by whichever runner or client. */
	control(record: ControlRecord): void {
		if (record.type === 'cancel') this.#takeCancel(record.reason, record.drainMs ?? Number.POSITIVE_INFINITY);
		if (record.type !== 'done' || this.#isDone) return;
		this.#isDone = true;
		// The results of one that is complete are all in the stream; of any other nothing is to run any more.
		if (record.status !== 'completed') this.#takeCancel(record.error ?? 'the job has ended', 0);
	}

	async readItem(item: number): Promise<StoredItem> {
		return this.#deliveries?.find(item) ?? this.rows.read(item);
	}

	async readRecord(item: number): Promise<JobRecord | undefined> {
		const place = this.table.placeOf(item);
		if (place === undefined) return this.#own.get(item);
		const {link, subjects} = this.#options;
		const message = await link.findMessage(subjects.resultStream, {seq: place});
		// A stream that has lost messages has given their numbers to others.
		const isOurs = message?.subject === subjects.result(this.job.jobId, item);
		const found = isOurs ? message : await this.#findFirst(item);
		return found && (JSON.parse(Buffer.from(found.data).toString()) as JobRecord);
	}

	/** The result that counts, as the leader of the stream has it. */
	#findFirst(item: number): Promise<StoredMsg | undefined> {
		const {link, subjects} = this.#options;
		const subject = subjects.result(this.job.jobId, item);
		return link.findMessage(subjects.resultStream, {seq: 1, next_by_subj: subject});
	}

	/** Asks for the results of all items that are not known to be done; of a job that is complete the reader has missed them. */
	async findMissing(): Promise<void> {
		for (const item of this.table.itemsIn('pending')) await this.findResult(item);
	}

	async hasItem(itemId: string): Promise<boolean> {
		return (await this.rows.find(itemId)) !== undefined;
	}

	append(record: JobRecord): Promise<void> {
		switch (record.type) {
			case 'run':
			case 'session':
				return this.#begin();
			case 'claim':
				this.table.apply(record, NO_PLACE);
				this.#own.set(record.item, record);
				return Promise.resolve();
			case 'report':
			case 'fail':
				this.table.apply(record, NO_PLACE);
				this.#own.set(record.item, record);
				return this.#publishResult(record);
			case 'requeue':
				this.table.apply(record, NO_PLACE);
				this.#own.delete(record.item);
				return this.#giveBack(record);
			case 'cancel':
				this.table.apply(record, NO_PLACE);
				return this.#publishControl({type: 'cancel', at: record.at, reason: record.reason, drainMs: null});
			case 'done':
				return this.#finish(record);
		}
	}

	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #close(): Promise<void> {
		this.#listener = undefined;
		this.#deliveries?.close();
		await this.#reader.close();
	}

	/** A job that was cancelled before this runner began stays so. */
	async #begin(): Promise<void> {
		if (this.#cancel) this.#listener?.cancelled(this.#cancel.reason, this.#cancel.drainMs);
	}

	#fold({subject, seq, header}: ReadMessage): void {
		const item = itemOf(subject);
		if (!(item >= 0 && item < this.table.total) || this.isSettled(item)) return;
		this.#settled[item] = 1;
		this.#settledCount++;
		const attempt = Number(header(RESULT_HEADERS.attempt) ?? 1);
		this.table.restore(item, attempt, this.table.retriesOf(item));
		const isRunningHere = this.table.statusOf(item) === 'running';
		this.table.settle(item, header(RESULT_HEADERS.status) === 'failed' ? 'failed' : 'completed', seq);
		this.#own.delete(item);
		if (isRunningHere) {
			this.#deliveries?.acknowledge(item);
			this.#listener?.settled(item);
		}
		if (header(RESULT_HEADERS.stop) !== undefined) this.#takeCancel(STOPPED_BY_WORKER, Number.POSITIVE_INFINITY);
		this.onSettled(item);
		const {pending, running} = this.table.counts;
		if (pending + running === 0) this.#listener?.wake();
	}

	#takeCancel(reason: string, drainMs: number): void {
		if (!this.#cancel || drainMs < this.#cancel.drainMs) this.#cancel = {reason, drainMs};
		const {status, cancelReason} = this.table;
		if (status !== 'running') return;
		if (cancelReason === undefined) this.table.apply({type: 'cancel', at: this.table.lastAt, reason}, NO_PLACE);
		this.#deliveries?.returnWaiting();
		this.#listener?.cancelled(reason, drainMs);
	}

	/** An item whose result was lost waits again. */
	#reopen(item: number): void {
		if (this.isSettled(item)) this.#settledCount--;
		this.#settled[item] = 0;
		this.#own.delete(item);
		this.table.reopen(item);
	}

	/** An item that is done here was delivered again: its acknowledgement was lost, or its result. */
	async #checkResult(item: number): Promise<void> {
		if (!(await this.findResult(item)) && !this.isSettled(item) && this.table.statusOf(item) !== 'running') {
			this.#reopen(item);
		}
	}

	/**
	 * One that is there already came first: ours is dropped, and the item is done with all the same. That is looked at: a broker
	 * may remember the id of a message that it has lost, or still count it. The order of the stream decides in any case.
	 */
	async #publishResult(record: RecordOf<'report'> | RecordOf<'fail'>): Promise<void> {
		const {link, subjects} = this.#options;
		const {jobId} = this.job;
		const {item} = record;
		const options = {
			headers: {
				[RESULT_HEADERS.status]: record.type === 'fail' ? 'failed' : 'completed',
				[RESULT_HEADERS.attempt]: String(this.table.attemptsOf(item)),
				...(record.type === 'report' && record.stop && {[RESULT_HEADERS.stop]: '1'}),
			},
		};
		for (let refusals = 0; ; refusals++) {
			const published = await link.publish(subjects.result(jobId, item), JSON.stringify(record), {
				...options,
				...(refusals === 0 && {msgId: `${jobId}.${item}`}),
				...(refusals < MAX_REFUSALS && {expectedLast: 0}),
			});
			if (published.kind === 'full') throw new Error('the NATS servers have no room for the results of jobs');
			if (published.kind === 'stored' && !published.isDuplicate) break;
			if (this.isSettled(item) || (await this.findResult(item))) break;
			if (refusals > 0) await waitAtMost(new Promise(() => {}), REFUSED_AGAIN_MS, link.closed);
		}
		this.#deliveries?.acknowledge(item);
	}

	/** A used retry is written down before another runner can have the item. */
	async #giveBack({item, kind, counts}: RecordOf<'requeue'>): Promise<void> {
		const {link, subjects} = this.#options;
		if (counts) await link.publish(subjects.retries(this.job.jobId, item), String(this.table.retriesOf(item)));
		this.#deliveries?.return(item, kind === 'refused');
	}

	async #readRetries(item: number): Promise<number> {
		const {link, subjects} = this.#options;
		const subject = subjects.retries(this.job.jobId, item);
		const message = await link.findMessage(subjects.resultStream, {last_by_subj: subject});
		return message ? Number(Buffer.from(message.data).toString()) : 0;
	}

	/** The first end in the order of the stream counts; the others say the same. */
	async #finish(record: RecordOf<'done'>): Promise<void> {
		this.table.apply(record, NO_PLACE);
		if (record.status === 'cancelled') await this.#waitForOthers();
		if (this.#isDone) return;
		const {at, status, error} = record;
		const summary = await summarizeJob(this);
		await this.#publishControl({type: 'done', at, status, ...(error !== undefined && {error}), summary});
	}

	/** Items of other runners may finish; one that is gone is not waited for longer than for its items. */
	async #waitForOthers(): Promise<void> {
		const {link, subjects} = this.#options;
		const {jobId} = this.job;
		const since = performance.now();
		while (!this.#isDone && !this.#closing && performance.now() - since < MAX_OTHERS_MS) {
			const consumer = await link.findConsumer(subjects.queueStream, itemConsumerName(jobId));
			if (!consumer || consumer.num_ack_pending === 0) return;
			await waitAtMost(new Promise(() => {}), OTHERS_MS, link.closed);
		}
	}

	async #publishControl(record: ControlRecord): Promise<void> {
		const {link, subjects} = this.#options;
		await link.publish(subjects.control(this.job.jobId), JSON.stringify(record));
	}
}
