import {withTimeout} from '../../shared/async/timeout.js';
import type {Logger} from '../../shared/logger.js';
import type {MetricsRegistry} from '../../shared/metrics.js';
import type {ListedJob} from '../output/job-summary.js';
import type {ItemTable} from '../store/item-table.js';

/** A job without a new result for so long is stalled, unless an item runs that may take longer. */
const STALL_MS = 60_000;
const MAX_LOOK_MS = 5000;
/** A stall that lasts is logged again after so long. */
const TELL_AGAIN_MS = 600_000;
/** Time for the answer to how many items run. */
const ANSWER_MS = 5000;
/** An item whose time is over has ended, or runs elsewhere, after so long. */
const LATE_MS = 60_000;

export interface WatchedJob {
	readonly jobId: string;
	readonly tenant: string;
	readonly totalItems: number;
	/** Time limit of one attempt. */
	readonly maxRuntimeMs: number;
	/** State of the job; undefined while it cannot be read. */
	readonly table: () => ItemTable | undefined;
	/** Items that run, on whichever node. */
	readonly countRunning: () => Promise<number>;
}

interface Watch {
	readonly job: WatchedJob;
	/** Most results that were seen: fewer are no progress, nor are the same ones again. */
	done: number;
	/** When the last result came; monotonic, like all times here. */
	progressAt: number;
	stalledAt: number | undefined;
	toldAt: number;
	isLooking: boolean;
}

/** Notices jobs of which no results come any more, and says so: in the log, in the list of jobs, and as a metric. */
export class JobStalls {
	readonly #logger: Logger;
	readonly #stallMs: number;
	readonly #watched = new Map<string, Watch>();
	#timer: NodeJS.Timeout | undefined;
	#total = 0;
	#repairs = 0;

	constructor(logger: Logger, stallMs = STALL_MS) {
		this.#logger = logger;
		this.#stallMs = stallMs;
	}

	/** Watches a job until the returned function is called, which is told whether the job has ended. */
	watch(job: WatchedJob): (hasEnded: boolean) => void {
		const now = performance.now();
		const watch: Watch = {
			job,
			done: countDone(job),
			progressAt: now,
			stalledAt: undefined,
			toldAt: 0,
			isLooking: false,
		};
		this.#watched.set(job.jobId, watch);
		this.#timer ??= setInterval(() => this.#lookAtAll(), Math.min(MAX_LOOK_MS, this.#stallMs / 2)).unref();
		return hasEnded => {
			if (hasEnded) this.#goOn(watch);
			this.#watched.delete(job.jobId);
			if (this.#watched.size > 0) return;
			clearInterval(this.#timer);
			this.#timer = undefined;
		};
	}

	/** The job with how long it has been stalled, if it is. */
	mark(listed: ListedJob): ListedJob {
		const isUnfinished = listed.status === 'pending' || listed.status === 'running';
		const seconds = isUnfinished ? this.secondsOf(listed.job_id) : undefined;
		return seconds === undefined ? listed : {...listed, stalled_seconds: seconds};
	}

	/** Seconds since the last result of a job that is stalled; undefined for one that is not. */
	secondsOf(jobId: string): number | undefined {
		const watch = this.#watched.get(jobId);
		return watch?.stalledAt === undefined ? undefined : secondsSince(watch.progressAt);
	}

	/** Something of the job was lost or hung, and is put right. */
	tellRepair(job: {readonly jobId: string; readonly tenant: string}, problem: string, items: number): void {
		this.#repairs++;
		this.#logger.warn('the queue of a job is put right', {job: job.jobId, tenant: job.tenant, problem, items});
	}

	/** Adds what is to be told of the jobs of a tenant, or of all of them. */
	addMetrics(registry: MetricsRegistry, tenant?: string): void {
		const watched = (): Watch[] =>
			[...this.#watched.values()].filter(({job}) => tenant === undefined || job.tenant === tenant);
		registry.gauge('longarm_hub_jobs_active', 'Jobs that this node runs.', () => watched().length);
		registry.gauge(
			'longarm_hub_jobs_stalled',
			'Jobs that this node runs, and of which no results come although no item runs.',
			() => watched().filter(({stalledAt}) => stalledAt !== undefined).length,
		);
		if (tenant !== undefined) return;
		registry.sampledCounter('longarm_hub_job_stalls_total', 'Stalls of jobs.', () => this.#total);
		registry.sampledCounter(
			'longarm_hub_job_repairs_total',
			'Times that lost items of a job were queued again, or its queue was made to go on.',
			() => this.#repairs,
		);
	}

	#lookAtAll(): void {
		for (const watch of this.#watched.values()) void this.#look(watch);
	}

	async #look(watch: Watch): Promise<void> {
		const {job} = watch;
		const done = countDone(job);
		if (done > watch.done) {
			this.#goOn(watch);
			watch.done = done;
			watch.progressAt = performance.now();
			return;
		}
		const idleMs = performance.now() - watch.progressAt;
		if (watch.isLooking || idleMs < this.#stallMs) return;
		watch.isLooking = true;
		const counted = job.countRunning().catch(() => 0);
		const running = await withTimeout(counted, ANSWER_MS, () => 0);
		watch.isLooking = false;
		if (this.#watched.get(job.jobId) !== watch || countDone(job) > watch.done) return;
		if (running > 0 && idleMs < job.maxRuntimeMs + LATE_MS) this.#goOn(watch);
		else this.#stall(watch, running);
	}

	#stall(watch: Watch, running: number): void {
		const now = performance.now();
		const isNew = watch.stalledAt === undefined;
		watch.stalledAt ??= now;
		if (isNew) this.#total++;
		else if (now - watch.toldAt < TELL_AGAIN_MS) return;
		watch.toldAt = now;
		const {jobId: job, tenant, totalItems} = watch.job;
		const left = totalItems - watch.done;
		const seconds = secondsSince(watch.progressAt);
		const text = isNew ? 'a job is stalled: no results come' : 'a job is still stalled';
		this.#logger.warn(text, {job, tenant, seconds, left, running});
	}

	#goOn(watch: Watch): void {
		if (watch.stalledAt === undefined) return;
		watch.stalledAt = undefined;
		const {jobId: job, tenant} = watch.job;
		this.#logger.info('a job that was stalled goes on', {job, tenant, seconds: secondsSince(watch.progressAt)});
	}
}

function countDone({table}: WatchedJob): number {
	const counts = table()?.counts;
	return counts ? counts.completed + counts.failed : 0;
}

function secondsSince(at: number): number {
	return Math.round((performance.now() - at) / 1000);
}
