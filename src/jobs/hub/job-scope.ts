import type {TokenRecord} from '../../hub/store/hub-records.js';
import {coversEnvironment} from '../../hub/store/hub-tokens.js';
import {parsePoolSelector} from '../../protocol/relay/pool-selector.js';
import type {JobDescription} from '../job-description.js';
import type {HubWork, JobOwner} from './hub-jobs.js';

/** Machines that a job may use, now and later, and whose job it is. */
export interface JobScope {
	readonly owner: JobOwner;
	/** Environments, pools and labels, as they were submitted. */
	readonly executors: readonly string[];
}

export function scopeOfJob({work, executors}: Pick<JobDescription, 'work' | 'executors'>): JobScope {
	return {owner: (work as HubWork).owner, executors: executors.map(({name}) => name)};
}

/**
 * Whether a token is good for every machine that a job may use. Members of pools come and go, so a job with one may use whatever the
 * token of its owner is good for.
 */
export function coversJob(token: Pick<TokenRecord, 'pattern'>, {owner, executors}: JobScope): boolean {
	// A pattern that matches the text of another one matches all that the other one does: only `*` matches a `*`.
	return executors.every(name => coversEnvironment(token, parsePoolSelector(name) ? owner.pattern : name));
}
