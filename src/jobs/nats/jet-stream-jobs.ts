import type {NatsLink} from '../../hub/nats/nats-link.js';
import {errorMessage} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {ActiveJobs} from '../hub/active-jobs.js';
import type {CancelRequest, HubJobs, ItemLogs, ItemsForm, OpenWork, SubmittedJob} from '../hub/hub-jobs.js';
import type {JobScope} from '../hub/job-scope.js';
import {JobStalls} from '../hub/job-stalls.js';
import type {ListedJob} from '../output/job-summary.js';
import {JetStreamLink} from './jet-stream-link.js';
import {TenantJobs} from './tenant-jobs.js';

/** How often streams of new tenants are looked for. */
const LOOK_MS = 5000;
const INPUT_STREAMS = 'LA_INPUTS_';
/** Tenants with jobs; each has three streams. */
const MAX_TENANTS = 1000;

export interface JetStreamJobsOptions {
	/** Stays the caller's. */
	readonly nats: NatsLink;
	readonly openWork: OpenWork;
	/** Directory for files of jobs on this machine. */
	readonly directory: string;
	readonly logger: Logger;
	readonly stalls?: JobStalls | undefined;
	readonly sweepMs?: number | undefined;
	readonly leaveMs?: number | undefined;
}

/** Jobs of a hub of many nodes, in JetStream: any node takes them, and all of them run them. */
export class JetStreamJobs implements HubJobs {
	readonly #options: JetStreamJobsOptions;
	readonly #link: JetStreamLink;
	readonly #active = new ActiveJobs();
	readonly #stalls: JobStalls;
	readonly #tenants = new Map<string, Promise<TenantJobs>>();
	readonly #timer: NodeJS.Timeout;

	/** Goes on with all jobs that are not finished. */
	static async open(options: JetStreamJobsOptions): Promise<JetStreamJobs> {
		const jobs = new JetStreamJobs(options, await JetStreamLink.open(options.nats));
		await jobs.#look();
		return jobs;
	}

	private constructor(options: JetStreamJobsOptions, link: JetStreamLink) {
		this.#options = options;
		this.#link = link;
		this.#stalls = options.stalls ?? new JobStalls(options.logger);
		this.#timer = setInterval(() => void this.#lookAgain(), LOOK_MS);
		this.#timer.unref();
	}

	async submit(tenant: string, job: SubmittedJob, rows: AsyncIterable<Uint8Array>): Promise<string> {
		return (await this.#open(tenant)).submit(job, rows);
	}

	async list(tenant: string): Promise<readonly ListedJob[]> {
		return (await this.#find(tenant))?.list() ?? [];
	}

	async find(tenant: string, jobId: string): Promise<ListedJob | undefined> {
		return (await this.#find(tenant))?.find(jobId);
	}

	async findScope(tenant: string, jobId: string): Promise<JobScope | undefined> {
		return (await this.#find(tenant))?.findScope(jobId);
	}

	async readItems(tenant: string, jobId: string, form: ItemsForm): Promise<AsyncIterable<string> | undefined> {
		return (await this.#find(tenant))?.readItems(jobId, form);
	}

	async readLogs(tenant: string, jobId: string, itemId: string): Promise<ItemLogs | undefined> {
		return (await this.#find(tenant))?.readLogs(jobId, itemId);
	}

	async cancel(tenant: string, jobId: string, request: CancelRequest): Promise<boolean> {
		return (await (await this.#find(tenant))?.cancel(jobId, request)) ?? false;
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		const tenants = await Promise.allSettled(this.#tenants.values());
		await Promise.all(tenants.map(async each => (each.status === 'fulfilled' ? each.value.close() : undefined)));
		await this.#active.close();
		this.#link.close();
	}

	/** Undefined for a tenant without jobs. */
	async #find(tenant: string): Promise<TenantJobs | undefined> {
		if (!this.#tenants.has(tenant)) await this.#look();
		return this.#tenants.get(tenant);
	}

	#open(tenant: string): Promise<TenantJobs> {
		const known = this.#tenants.get(tenant);
		if (known) return known;
		if (this.#tenants.size >= MAX_TENANTS) return Promise.reject(new Error(`a hub has at most ${MAX_TENANTS} tenants`));
		const {nats: _, ...options} = this.#options;
		const parts = {link: this.#link, active: this.#active, stalls: this.#stalls};
		const opened = TenantJobs.open({...options, ...parts, tenant});
		this.#tenants.set(tenant, opened);
		opened.catch(() => this.#tenants.delete(tenant));
		return opened;
	}

	/** Tenants whose first job came in at another node. */
	async #look(): Promise<void> {
		const names = await this.#link.listStreams(INPUT_STREAMS);
		// Names of tenants are letters, digits and hyphens: they are tokens as they are.
		await Promise.all(names.map(name => this.#open(name.slice(INPUT_STREAMS.length))));
	}

	async #lookAgain(): Promise<void> {
		try {
			await this.#look();
		} catch (error) {
			const reason = errorMessage(error);
			if (!this.#link.closed.aborted) this.#options.logger.warn('streams of jobs cannot be listed', {reason});
		}
	}
}
