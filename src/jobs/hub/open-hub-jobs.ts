import {join} from 'node:path';
import type {HubBackend} from '../../hub/cluster/hub-cluster.js';
import type {Hub} from '../../hub/hub.js';
import type {NatsLink} from '../../hub/nats/nats-link.js';
import type {Logger} from '../../shared/logger.js';
import type {TlsOptions} from '../../transports/node/tls-trust.js';
import {CommandWorker} from '../command/command-worker.js';
import {DirectoryJobs} from './directory-jobs.js';
import {openHubExecutors, selectExecutors} from './hub-executors.js';
import type {HubJobs, HubWork, OpenWork} from './hub-jobs.js';
import {JobRoutes} from './job-routes.js';
import {JobStalls} from './job-stalls.js';

const JOBS_DIRECTORY = 'jobs';

export interface OpenHubJobsOptions {
	readonly hub: Hub;
	/** State of the hub; with NATS jobs are in JetStream, else in the directory. */
	readonly backend: HubBackend | undefined;
	/** Address at which the hub listens. */
	readonly url: string;
	/** How the hub trusts itself. */
	readonly tls?: TlsOptions | undefined;
	readonly data: string;
	readonly logger: Logger;
}

/** Lets a hub take and run jobs. It is a client of the executors then, and sees what their commands get and print. */
export async function openHubJobs(options: OpenHubJobsOptions): Promise<HubJobs> {
	const {hub, backend, data, logger} = options;
	const directory = join(data, JOBS_DIRECTORY);
	const openWork = workOpener(options);
	const stalls = new JobStalls(logger);
	const jobs = await openJobs(backend, {directory, openWork, logger, stalls});
	const listRegistrations = (tenant: string) => hub.listRegistrations(tenant);
	hub.attach(new JobRoutes({jobs, stalls, access: hub.access, listRegistrations, logger}));
	return jobs;
}

async function openJobs(
	backend: HubBackend | undefined,
	options: {directory: string; openWork: OpenWork; logger: Logger; stalls: JobStalls},
): Promise<HubJobs> {
	const nats = (backend as {readonly link?: NatsLink} | undefined)?.link;
	if (!nats) return DirectoryJobs.open(options);
	const {JetStreamJobs} = await import('../nats/jet-stream-jobs.js');
	return JetStreamJobs.open({...options, nats});
}

function workOpener({hub, url, tls}: OpenHubJobsOptions): OpenWork {
	return async ({tenant, job, directory, logs}) => {
		const {command, owner} = job.work as HubWork;
		const selected = selectExecutors(job.executors, await hub.listRegistrations(tenant), owner.pattern);
		// The rights of the client, and no more.
		const {token} = hub.internalTokens.createInternal(owner.pattern, tenant);
		const executors = openHubExecutors(selected, {url, token, tls});
		const worker = new CommandWorker({job, spec: command, directory, logs});
		return {
			worker,
			executors,
			async dispose() {
				await worker.dispose();
				await Promise.allSettled(executors.map(({environment}) => environment.close()));
				hub.internalTokens.removeInternal(token);
			},
		};
	};
}
