import {join} from 'node:path';
import {DEFAULT_DRAIN_MS} from '../../../jobs/run-job.js';
import {DirectoryStore} from '../../../jobs/store/directory-store.js';
import {findJobId, JOB_FILES, shortJobId} from '../../../jobs/store/job-directory.js';
import {findLockHolder, type LockHolder} from '../../../jobs/store/job-lock.js';
import type {OptionValues} from '../../command-definition.js';
import {writeLines} from '../../common/messages.js';
import {parseTimeOption} from '../../common/times.js';
import {JOB_EXIT} from './job-options.js';
import {jobsDirectoryOf} from './run-stored-job.js';

const REASON = 'cancelled by user';
const ANSWER_MS = 10_000;

/** Ends a job: asks its runner to, or records it if there is none. */
export async function cancelFanout(given: string, options: OptionValues): Promise<number> {
	const jobs = jobsDirectoryOf(options);
	const drainMs = parseTimeOption('--drain-timeout', options['drainTimeout'] as string | undefined) ?? DEFAULT_DRAIN_MS;
	const id = findJobId(jobs, given);
	const holder = findLockHolder(join(jobs, id, JOB_FILES.lock));
	const hasAsked = holder?.url !== undefined && (await ask(holder, drainMs));
	if (!hasAsked) await record(jobs, id);
	writeLines([`job ${shortJobId(id)} ${hasAsked ? 'is being cancelled' : 'is cancelled'}`]);
	return JOB_EXIT.ok;
}

async function ask({url, secret}: LockHolder, drainMs: number): Promise<boolean> {
	const body = JSON.stringify({secret, reason: REASON, drain_ms: drainMs});
	try {
		const {ok} = await fetch(`${url}/cancel`, {method: 'POST', body, signal: AbortSignal.timeout(ANSWER_MS)});
		return ok;
	} catch {
		// It has just ended: then the lock is free.
		return false;
	}
}

/** A job that has ended stays as it is. */
async function record(jobs: string, id: string): Promise<void> {
	await using store = await DirectoryStore.open(jobs, id, 'run');
	const {status} = store.table;
	if (status !== 'pending' && status !== 'running') return;
	const at = Date.now();
	if (status === 'pending') await store.append({type: 'run', at});
	await store.append({type: 'cancel', at, reason: REASON});
	await store.append({type: 'done', at, status: 'cancelled'});
}
