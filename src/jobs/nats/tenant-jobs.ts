import {randomUUID} from 'node:crypto';
import {join} from 'node:path';
import {parsePoolSelector} from '../../protocol/relay/pool-selector.js';
import {Deferred} from '../../shared/async/deferred.js';
import {hasShare} from '../../shared/async/fair-places.js';
import {ignoreRejection} from '../../shared/async/ignore-rejection.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {errorMessage} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import type {JobRunner} from '../engine/job-runner.js';
import type {ActiveJobs} from '../hub/active-jobs.js';
import {
	type CancelRequest,
	HUB_ROW_LIMITS,
	type ItemLogs,
	type ItemsForm,
	KEPT_MS,
	MAX_KEPT_JOBS,
	type OpenWork,
	type SubmittedJob,
	tooManyKept,
} from '../hub/hub-jobs.js';
import {type JobScope, scopeOfJob} from '../hub/job-scope.js';
import type {JobStalls} from '../hub/job-stalls.js';
import {LEAVE_MS, NO_WORK, RETRY_JOB_MS, runHubJob} from '../hub/run-hub-job.js';
import {requireUsableJob} from '../hub/submitted-job.js';
import {JobInputError} from '../input/job-input-error.js';
import {readRows} from '../input/row-source.js';
import {JOB_FORMAT, type JobDescription} from '../job-description.js';
import {exportLines} from '../output/export-job.js';
import {describeJob, type JobSummary, type ListedJob} from '../output/job-summary.js';
import {itemConsumerName} from './item-deliveries.js';
import {ItemPublisher} from './item-publisher.js';
import type {JetStreamLink} from './jet-stream-link.js';
import {JetStreamStore} from './jet-stream-store.js';
import {writeRows} from './job-inputs.js';
import {ensureJobStreams} from './job-streams.js';
import {JobSubjects} from './job-subjects.js';
import type {ControlRecord, SharedJob} from './shared-job.js';
import {StreamLogs} from './stream-logs.js';
import {StreamReader} from './stream-reader.js';

/** Before results of a job expire it has to be over: what is gone would be done again. */
const MAX_JOB_MS = KEPT_MS - 24 * 3_600_000;
/** Looks for a job that is not known, while the list of jobs is behind. */
const MAX_LOOKS = 20;
const LOOK_AGAIN_MS = 100;
/** Time for results that are on their way, when another node says that all of them are there. */
const LAST_RESULTS_MS = 5000;
/** Subject token of items that belong to no pool. */
const NO_POOL = 'default';

export interface TenantJobsOptions {
	readonly link: JetStreamLink;
	readonly tenant: string;
	readonly openWork: OpenWork;
	readonly active: ActiveJobs;
	readonly stalls: JobStalls;
	/** Directory for files of jobs on this machine. */
	readonly directory: string;
	readonly logger: Logger;
	/** How often lost items are looked for. */
	readonly sweepMs?: number | undefined;
	/** Time that running items have when the hub ends. */
	readonly leaveMs?: number | undefined;
}

/** A job of the tenant, as the stream tells of it. */
interface Entry {
	readonly shared: SharedJob;
	readonly scope: JobScope;
	cancel: Extract<ControlRecord, {type: 'cancel'}> | undefined;
	done: Extract<ControlRecord, {type: 'done'}> | undefined;
	/** Set while it runs here. */
	store: JetStreamStore | undefined;
	runner: JobRunner | undefined;
	/** Ends the pause before the job is tried again. */
	wake: Deferred;
}

/** Jobs of one tenant in JetStream. Every node runs every job that is not finished, and takes from its items what it has room for. */
export class TenantJobs {
	readonly #options: TenantJobsOptions;
	readonly #subjects: JobSubjects;
	readonly #logs: StreamLogs;
	readonly #jobs = new Map<string, Entry>();
	#reader: StreamReader | undefined;
	#isReady = false;
	#isClosed = false;

	/** Settles when all jobs are known; those that are not finished run from then on. */
	static async open(options: TenantJobsOptions): Promise<TenantJobs> {
		const jobs = new TenantJobs(options);
		await jobs.#open();
		return jobs;
	}

	private constructor(options: TenantJobsOptions) {
		this.#options = options;
		this.#subjects = new JobSubjects(options.tenant);
		this.#logs = new StreamLogs(options.link, this.#subjects);
	}

	async submit(submitted: SubmittedJob, bytes: AsyncIterable<Uint8Array>): Promise<string> {
		const {token} = submitted.work.owner;
		const own = [...this.#jobs.values()].filter(({scope}) => scope.owner.token === token);
		if (!hasShare(own.length, this.#jobs.size, MAX_KEPT_JOBS)) throw tooManyKept();
		const {inputName, inputFormat, idColumn, rules, work, executors} = submitted;
		const {link} = this.#options;
		const jobId = randomUUID();
		const source = await readRows(bytes, inputFormat, HUB_ROW_LIMITS);
		// Before the first row is published: rows of a job that is refused would stay until they expire.
		const check = (): void => requireUsableJob({headers: source.headers, inputFormat, work});
		const rows = await writeRows({link, subjects: this.#subjects, jobId, check}, source, idColumn);
		const job: JobDescription = {
			format: JOB_FORMAT,
			jobId,
			createdAtMs: Date.now(),
			inputPath: inputName,
			inputFormat,
			inputHash: source.digest(),
			headers: source.headers,
			...(idColumn !== undefined && {idColumn}),
			totalItems: rows.totalItems,
			outputPath: '',
			rules,
			work,
			executors,
		};
		const shared: SharedJob = {job, rows, pool: poolOf(job)};
		await this.#publish(jobId, {type: 'create', ...shared});
		this.#add(shared);
		return jobId;
	}

	async list(): Promise<readonly ListedJob[]> {
		const listed = await Promise.all([...this.#jobs.values()].map(entry => this.#describe(entry)));
		return listed.sort((one, other) => one.created_at.localeCompare(other.created_at));
	}

	async find(jobId: string): Promise<ListedJob | undefined> {
		const entry = await this.#find(jobId);
		if (!entry) return undefined;
		const listed = await this.#describe(entry);
		if (entry.done) return listed;
		// Items that run on other nodes wait as far as this one can tell.
		const left = listed.pending_items + listed.running_items;
		const running = Math.min(left, Math.max(listed.running_items, await this.#countRunning(jobId)));
		return {...listed, running_items: running, pending_items: left - running};
	}

	async findScope(jobId: string): Promise<JobScope | undefined> {
		return (await this.#find(jobId))?.scope;
	}

	async readItems(jobId: string, form: ItemsForm): Promise<AsyncIterable<string> | undefined> {
		const entry = await this.#find(jobId);
		return entry && this.#exportLines(entry, form);
	}

	async readLogs(jobId: string, itemId: string): Promise<ItemLogs | undefined> {
		const entry = await this.#find(jobId);
		if (!entry) return undefined;
		const store = await this.#look(entry);
		try {
			const item = await store.rows.find(itemId);
			return item === undefined ? undefined : await this.#logs.read(jobId, item);
		} finally {
			if (store !== entry.store) await store.close();
		}
	}

	async cancel(jobId: string, {reason, drainMs}: CancelRequest): Promise<boolean> {
		const entry = await this.#find(jobId);
		if (!entry) return false;
		if (!entry.done) await this.#publish(jobId, {type: 'cancel', at: Date.now(), reason, drainMs});
		return true;
	}

	/** Leaves all jobs to other nodes. */
	async close(): Promise<void> {
		this.#isClosed = true;
		for (const {runner, wake} of this.#jobs.values()) {
			runner?.leave(this.#options.leaveMs ?? LEAVE_MS);
			wake.resolve();
		}
		await this.#reader?.close();
	}

	async #open(): Promise<void> {
		const {link, logger} = this.#options;
		await ensureJobStreams(link, this.#subjects);
		this.#reader = new StreamReader({
			link,
			stream: this.#subjects.inputStream,
			filter: this.#subjects.control('*'),
			onMessage: ({subject, data}) => this.#take(subject, JSON.parse(Buffer.from(data).toString()) as ControlRecord),
			onError: error => logger.error('the list of jobs cannot be read', {reason: errorMessage(error)}),
		});
		await this.#reader.caughtUp;
		this.#isReady = true;
		for (const entry of this.#jobs.values()) this.#start(entry);
	}

	/** One that another node has just taken may not be known here yet. */
	async #find(jobId: string): Promise<Entry | undefined> {
		for (let look = 0; look < MAX_LOOKS && !this.#jobs.has(jobId); look++) {
			if (await this.#reader!.isCaughtUp()) break;
			await waitAtMost(new Promise(() => {}), LOOK_AGAIN_MS, this.#options.link.closed);
		}
		return this.#jobs.get(jobId);
	}

	#take(subject: string, record: ControlRecord): void {
		if (record.type === 'create') return this.#add({job: record.job, rows: record.rows, pool: record.pool});
		const entry = this.#jobs.get(subject.slice(subject.lastIndexOf('.') + 1));
		if (!entry) return;
		if (record.type === 'cancel') entry.cancel ??= record;
		else entry.done ??= record;
		if (entry.done) this.#leaveSoon(entry);
		entry.store?.control(record);
		entry.wake.resolve();
	}

	/** A runner whose own reader has missed a result would wait for it for ever. */
	#leaveSoon(entry: Entry): void {
		const {runner} = entry;
		const leave = (): void => {
			if (entry.runner === runner) runner?.leave(0);
		};
		if (runner) setTimeout(leave, LAST_RESULTS_MS).unref();
	}

	#add(shared: SharedJob): void {
		const {jobId} = shared.job;
		if (this.#jobs.has(jobId)) return;
		const nothing = {cancel: undefined, done: undefined, store: undefined, runner: undefined};
		const entry: Entry = {shared, scope: scopeOfJob(shared.job), ...nothing, wake: new Deferred()};
		this.#jobs.set(jobId, entry);
		if (this.#isReady) this.#start(entry);
	}

	#start(entry: Entry): void {
		const owner = {group: this.#options.tenant, member: entry.scope.owner.token};
		if (!entry.done) this.#options.active.start(owner, () => this.#run(entry));
	}

	async #run(entry: Entry): Promise<void> {
		const {stalls, tenant} = this.#options;
		const {jobId, totalItems, rules} = entry.shared.job;
		const endWatch = stalls.watch({
			jobId,
			tenant,
			totalItems,
			maxRuntimeMs: rules.maxRuntimeMs,
			table: () => entry.store?.table,
			countRunning: () => this.#countRunning(jobId),
		});
		endWatch(await this.#runToEnd(entry));
	}

	/** False if the job is left to others. */
	async #runToEnd(entry: Entry): Promise<boolean> {
		const {link, logger, tenant} = this.#options;
		const job = entry.shared.job.jobId;
		while (!this.#isClosed && !entry.done) {
			try {
				const status = await this.#runOnce(entry);
				const isLeft = status === 'left' && !entry.done;
				logger.info(isLeft ? 'left a job to others' : 'a job has ended', {job, tenant, status});
				if (!isLeft) await this.#clear(entry);
				return !isLeft;
			} catch (error) {
				if (this.#isClosed) return false;
				logger.error('a job cannot go on here, and is tried again', {job, tenant, reason: errorMessage(error)});
				entry.wake = new Deferred();
				await waitAtMost(entry.wake.promise, RETRY_JOB_MS, link.closed);
			}
		}
		return entry.done !== undefined;
	}

	async #runOnce(entry: Entry) {
		const {link, openWork, tenant, directory, stalls, sweepMs, leaveMs = LEAVE_MS} = this.#options;
		const {shared} = entry;
		const {job, pool} = shared;
		const failed = new Deferred<never>();
		void ignoreRejection(failed.promise);
		const store = await this.#openStore(shared, error => failed.reject(error));
		entry.store = store;
		if (entry.cancel) store.control(entry.cancel);
		let publisher: ItemPublisher | undefined;
		try {
			if (Date.now() - job.createdAtMs > MAX_JOB_MS) return await failOld(store);
			const opening = entry.cancel
				? Promise.resolve(NO_WORK)
				: openWork({tenant, job, directory: join(directory, job.jobId), logs: this.#logs});
			const work = await Promise.race([opening, failed.promise]).catch((error: unknown) => {
				opening.then(late => late.dispose()).catch(() => {});
				throw error;
			});
			publisher = new ItemPublisher({
				link,
				subjects: this.#subjects,
				store,
				pool,
				sweepMs,
				onError: error => failed.reject(error),
				onRepair: (problem, items) => stalls.tellRepair({jobId: job.jobId, tenant}, problem, items),
			});
			const onRunner = (runner: JobRunner): void => {
				entry.runner = runner;
				if (this.#isClosed) runner.leave(leaveMs);
			};
			const running = runHubJob(store, work, {tenant, onRunner});
			return await Promise.race([running, failed.promise]);
		} finally {
			entry.runner = undefined;
			entry.store = undefined;
			await publisher?.close();
			await store.close();
		}
	}

	async #countRunning(jobId: string): Promise<number> {
		const consumer = await this.#options.link.findConsumer(this.#subjects.queueStream, itemConsumerName(jobId));
		return consumer?.num_ack_pending ?? 0;
	}

	/** Nothing of a job that has ended stays in the queue. */
	async #clear({shared: {job, pool}}: Entry): Promise<void> {
		const {link} = this.#options;
		const {queueStream} = this.#subjects;
		await link.purge(queueStream, this.#subjects.queued(pool, job.jobId, '*'));
		await link.deleteConsumer(queueStream, itemConsumerName(job.jobId));
	}

	async #describe(entry: Entry): Promise<ListedJob> {
		return this.#options.stalls.mark(await describeEntry(entry));
	}

	async *#exportLines(entry: Entry, form: ItemsForm): AsyncGenerator<string, void, void> {
		const store = await this.#look(entry);
		try {
			yield* exportLines(store, form === 'jsonl');
		} finally {
			if (store !== entry.store) await store.close();
		}
	}

	/** The store of the job as it runs here, or another one to look at it. */
	async #look({store, shared, done}: Entry): Promise<JetStreamStore> {
		if (store && !done) return store;
		const opened = await this.#openStore(shared, () => {});
		if (done?.status === 'completed') await opened.findMissing();
		return opened;
	}

	#openStore(shared: SharedJob, onError: (error: unknown) => void): Promise<JetStreamStore> {
		return JetStreamStore.open({link: this.#options.link, subjects: this.#subjects, shared, onError});
	}

	async #publish(jobId: string, record: ControlRecord): Promise<void> {
		const {kind} = await this.#options.link.publish(this.#subjects.control(jobId), JSON.stringify(record));
		if (kind !== 'stored') throw new JobInputError('the hub has no room for another job');
	}
}

async function describeEntry({shared: {job}, store, done}: Entry): Promise<ListedJob> {
	if (!done && store) return describeJob(store);
	const summary = done?.summary ?? emptySummary(job);
	const {completed_items: completed, failed_items: failed, cancelled_items: cancelled} = summary;
	return {
		...summary,
		pending_items: job.totalItems - completed - failed - cancelled,
		running_items: 0,
		input_path: job.inputPath,
		created_at: new Date(job.createdAtMs).toISOString(),
	};
}

async function failOld(store: JetStreamStore): Promise<'failed'> {
	const error = `the job was not finished within ${MAX_JOB_MS / 3_600_000} hours`;
	await store.append({type: 'done', at: Date.now(), status: 'failed', error});
	return 'failed';
}

/** A job that no runner has opened yet. */
function emptySummary({jobId, totalItems}: JobDescription): JobSummary {
	return {
		job_id: jobId,
		status: 'pending',
		output_csv_path: '',
		total_items: totalItems,
		completed_items: 0,
		failed_items: 0,
		cancelled_items: 0,
		job_error: null,
		failed_item_errors: null,
	};
}

/** The pool of a job that names one only. */
function poolOf({executors}: JobDescription): string {
	const [first] = executors;
	const selector = executors.length === 1 ? parsePoolSelector(first!.name) : undefined;
	return selector?.pool ?? NO_POOL;
}
