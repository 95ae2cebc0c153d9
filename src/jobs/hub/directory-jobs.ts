import {randomUUID} from 'node:crypto';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {rm} from 'node:fs/promises';
import {join} from 'node:path';
import {Deferred} from '../../shared/async/deferred.js';
import {hasShare} from '../../shared/async/fair-places.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import type {JobRunner} from '../engine/job-runner.js';
import {readRows} from '../input/row-source.js';
import {JOB_FORMAT} from '../job-description.js';
import {exportLines} from '../output/export-job.js';
import {describeJob, type ListedJob} from '../output/job-summary.js';
import {DirectoryStore} from '../store/directory-store.js';
import {JOB_FILES, listJobIds} from '../store/job-directory.js';
import {ActiveJobs} from './active-jobs.js';
import {
	type CancelRequest,
	HUB_ROW_LIMITS,
	type HubJobs,
	type ItemLogs,
	type ItemsForm,
	KEPT_MS,
	MAX_KEPT_JOBS,
	type OpenWork,
	type SubmittedJob,
	tooManyKept,
} from './hub-jobs.js';
import {type JobScope, scopeOfJob} from './job-scope.js';
import {JobStalls} from './job-stalls.js';
import {LEAVE_MS, NO_WORK, RETRY_JOB_MS, runHubJob} from './run-hub-job.js';
import {requireUsableJob} from './submitted-job.js';

export interface DirectoryJobsOptions {
	/** Directory with one directory per tenant. */
	readonly directory: string;
	readonly openWork: OpenWork;
	readonly logger: Logger;
	readonly stalls?: JobStalls | undefined;
	/** Time that running items have when the hub ends. */
	readonly leaveMs?: number | undefined;
}

/** A job of this hub. */
interface Entry {
	readonly tenant: string;
	readonly jobId: string;
	readonly scope: JobScope;
	/** Open while the job runs: one that waits for its turn has no open files. */
	store: DirectoryStore | undefined;
	runner: JobRunner | undefined;
	/** How it was when its store was closed. */
	listed: ListedJob | undefined;
	cancel: CancelRequest | undefined;
	/** Settles when the store is closed. */
	closing: Promise<void> | undefined;
	/** Ends the pause before the job is tried again. */
	wake: Deferred;
}

/** Jobs of a hub that is alone, in its directory. A job that was not finished goes on when the hub starts again. */
export class DirectoryJobs implements HubJobs {
	readonly #options: DirectoryJobsOptions;
	readonly #jobs = new Map<string, Entry>();
	readonly #active = new ActiveJobs();
	readonly #stalls: JobStalls;
	#isClosed = false;

	static async open(options: DirectoryJobsOptions): Promise<DirectoryJobs> {
		const jobs = new DirectoryJobs(options);
		await jobs.#load();
		return jobs;
	}

	private constructor(options: DirectoryJobsOptions) {
		this.#options = options;
		this.#stalls = options.stalls ?? new JobStalls(options.logger);
	}

	async submit(tenant: string, submitted: SubmittedJob, rows: AsyncIterable<Uint8Array>): Promise<string> {
		if (this.#isClosed) throw new LongarmError('SHUTTING_DOWN', {message: 'the hub is ending'});
		const kept = this.#ofTenant(tenant);
		const own = kept.filter(({scope}) => scope.owner.token === submitted.work.owner.token);
		if (!hasShare(own.length, kept.length, MAX_KEPT_JOBS)) throw tooManyKept();
		const {inputName, inputFormat, idColumn, rules, work, executors} = submitted;
		const jobId = randomUUID();
		const store = await DirectoryStore.create(
			this.#directoryOf(tenant),
			{
				format: JOB_FORMAT,
				jobId,
				createdAtMs: Date.now(),
				inputPath: inputName,
				...(idColumn !== undefined && {idColumn}),
				outputPath: '',
				rules,
				work,
				executors,
			},
			await readRows(rows, inputFormat, HUB_ROW_LIMITS),
		);
		try {
			requireUsableJob(store.job);
		} catch (error) {
			await store.remove();
			throw error;
		}
		await this.#start(newEntry(tenant, store));
		return jobId;
	}

	async list(tenant: string): Promise<readonly ListedJob[]> {
		const listed = await Promise.all(this.#ofTenant(tenant).map(entry => this.#describe(entry)));
		return listed.sort((one, other) => one.created_at.localeCompare(other.created_at));
	}

	async find(tenant: string, jobId: string): Promise<ListedJob | undefined> {
		const entry = this.#find(tenant, jobId);
		return entry && this.#describe(entry);
	}

	async findScope(tenant: string, jobId: string): Promise<JobScope | undefined> {
		return this.#find(tenant, jobId)?.scope;
	}

	async readItems(tenant: string, jobId: string, form: ItemsForm): Promise<AsyncIterable<string> | undefined> {
		const entry = this.#find(tenant, jobId);
		return entry && this.#exportLines(entry, form);
	}

	async readLogs(tenant: string, jobId: string, itemId: string): Promise<ItemLogs | undefined> {
		if (!this.#find(tenant, jobId)) return undefined;
		await using store = await DirectoryStore.open(this.#directoryOf(tenant), jobId, 'look');
		const item = await store.findItem(itemId);
		return item === undefined ? undefined : readLogFiles(join(store.directory, JOB_FILES.logs), item, itemId);
	}

	async cancel(tenant: string, jobId: string, request: CancelRequest): Promise<boolean> {
		const entry = this.#find(tenant, jobId);
		if (!entry) return false;
		entry.cancel ??= request;
		entry.runner?.cancel(request.reason, request.drainMs);
		entry.wake.resolve();
		return true;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		for (const {runner, wake} of this.#jobs.values()) {
			runner?.leave(this.#options.leaveMs ?? LEAVE_MS);
			wake.resolve();
		}
		await this.#active.close();
	}

	async #describe(entry: Entry): Promise<ListedJob> {
		return this.#stalls.mark(await describeEntry(entry));
	}

	#directoryOf(tenant: string): string {
		return join(this.#options.directory, tenant);
	}

	#ofTenant(tenant: string): Entry[] {
		return [...this.#jobs.values()].filter(entry => entry.tenant === tenant);
	}

	#find(tenant: string, jobId: string): Entry | undefined {
		const entry = this.#jobs.get(jobId);
		return entry?.tenant === tenant ? entry : undefined;
	}

	async #load(): Promise<void> {
		const {directory, logger} = this.#options;
		const tenants = existsSync(directory) ? readdirSync(directory) : [];
		for (const tenant of tenants) {
			for (const jobId of listJobIds(this.#directoryOf(tenant))) {
				try {
					await this.#loadJob(tenant, jobId);
				} catch (error) {
					logger.error('a job cannot be read', {job: jobId, reason: errorMessage(error)});
				}
			}
		}
	}

	async #loadJob(tenant: string, jobId: string): Promise<void> {
		const directory = this.#directoryOf(tenant);
		const store = await DirectoryStore.open(directory, jobId, 'run');
		const {status, lastAt} = store.table;
		const entry = newEntry(tenant, store);
		if (status === 'pending' || status === 'running') return this.#start(entry);
		await closeStore(entry, store);
		if (Date.now() - lastAt > KEPT_MS) await rm(join(directory, jobId), {recursive: true, force: true});
		else this.#jobs.set(jobId, entry);
	}

	/** Runs the job if there is a place for it, else later. */
	async #start(entry: Entry): Promise<void> {
		const {tenant, jobId, scope} = entry;
		let isRunning = false;
		this.#jobs.set(jobId, entry);
		this.#active.start({group: tenant, member: scope.owner.token}, async () => {
			isRunning = true;
			await this.#run(entry).catch((error: unknown) => {
				this.#options.logger.error('a job cannot be run', {job: jobId, tenant, reason: errorMessage(error)});
			});
		});
		if (!isRunning) await closeStore(entry, entry.store!);
	}

	async #run(entry: Entry): Promise<void> {
		const {logger} = this.#options;
		const {tenant, jobId: job} = entry;
		await entry.closing;
		if (!entry.store && this.#isClosed) return;
		entry.store ??= await DirectoryStore.open(this.#directoryOf(tenant), job, 'run');
		const {store} = entry;
		const {totalItems, rules} = store.job;
		const endWatch = this.#stalls.watch({
			jobId: job,
			tenant,
			totalItems,
			maxRuntimeMs: rules.maxRuntimeMs,
			table: () => store.table,
			countRunning: async () => store.table.counts.running,
		});
		while (!this.#isClosed) {
			try {
				const status = await this.#runOnce(entry, store);
				logger.info('a job has ended', {job, tenant, status});
				break;
			} catch (error) {
				logger.error('a job cannot go on, and is tried again', {job, tenant, reason: errorMessage(error)});
				entry.wake = new Deferred();
				await waitAtMost(entry.wake.promise, RETRY_JOB_MS);
			}
		}
		endWatch(!this.#isClosed);
		entry.runner = undefined;
		await closeStore(entry, store);
	}

	async #runOnce(entry: Entry, store: DirectoryStore) {
		const {openWork, leaveMs = LEAVE_MS} = this.#options;
		const {tenant, cancel} = entry;
		const work = cancel ? NO_WORK : await openWork({tenant, job: store.job, directory: store.directory});
		const onRunner = (runner: JobRunner): void => {
			entry.runner = runner;
			if (entry.cancel) runner.cancel(entry.cancel.reason, entry.cancel.drainMs);
			if (this.#isClosed) runner.leave(leaveMs);
		};
		return runHubJob(store, work, {tenant, onRunner});
	}

	/** The files of a job that ends meanwhile stay open until its lines are read. */
	async *#exportLines(entry: Entry, form: ItemsForm): AsyncGenerator<string, void, void> {
		const {tenant, jobId, store: running} = entry;
		const store = running ?? (await DirectoryStore.open(this.#directoryOf(tenant), jobId, 'look'));
		const release = running ? running.hold() : () => store.close();
		try {
			yield* exportLines(store, form === 'jsonl');
		} finally {
			await release();
		}
	}
}

function newEntry(tenant: string, store: DirectoryStore): Entry {
	const nothing = {runner: undefined, listed: undefined, cancel: undefined, closing: undefined};
	return {tenant, jobId: store.job.jobId, scope: scopeOfJob(store.job), store, ...nothing, wake: new Deferred()};
}

function closeStore(entry: Entry, store: DirectoryStore): Promise<void> {
	const close = async (): Promise<void> => {
		entry.listed = await describeJob(store);
		entry.store = undefined;
		await store.close();
	};
	entry.closing = close();
	return entry.closing;
}

async function describeEntry({store, listed}: Entry): Promise<ListedJob> {
	if (!store) return listed!;
	const release = store.hold();
	try {
		return await describeJob(store);
	} finally {
		await release();
	}
}

/** Files of the last attempt: `<row>-<item>.<attempt>.out` and `.err`. */
function readLogFiles(directory: string, item: number, itemId: string): ItemLogs | undefined {
	const names = existsSync(directory) ? readdirSync(directory).filter(name => name.startsWith(`${item + 1}-`)) : [];
	const attempts = names.map(name => Number(/\.(\d+)\.(?:out|err)$/.exec(name)?.[1] ?? 0));
	const attempt = Math.max(0, ...attempts);
	const read = (suffix: string): string => {
		const name = names.find(each => each.endsWith(`.${attempt}.${suffix}`));
		return name === undefined ? '' : readFileSync(join(directory, name), 'utf8');
	};
	return attempt === 0 ? undefined : {item_id: itemId, attempt, stdout: read('out'), stderr: read('err')};
}
