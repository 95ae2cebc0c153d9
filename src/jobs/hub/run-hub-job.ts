import {JobRunner} from '../engine/job-runner.js';
import {compileSchema, type ResultCheck} from '../engine/result-schema.js';
import {JobInputError} from '../input/job-input-error.js';
import type {FinalStatus} from '../store/job-records.js';
import type {JobStore} from '../store/job-store.js';
import type {OpenedWork} from './hub-jobs.js';

/** Time that running items have when the hub ends. */
export const LEAVE_MS = 5000;
/** Pause before a job that cannot go on is tried again: its executors may come back. */
export const RETRY_JOB_MS = 2000;
/** Work of a job that is cancelled: nothing is left to do. */
export const NO_WORK: OpenedWork = {
	worker: {run: () => Promise.reject(new Error('the job is cancelled'))},
	executors: [],
	dispose: async () => {},
};

/**
 * Runs a job of a hub to its end, or until the hub ends. The work is disposed of. A job whose schema cannot be used fails: to try
 * it again would take the same time again.
 */
export async function runHubJob(
	store: JobStore,
	work: OpenedWork,
	{tenant, onRunner}: {readonly tenant: string; readonly onRunner: (runner: JobRunner) => void},
): Promise<FinalStatus | 'left'> {
	try {
		const {schema} = store.job.rules;
		let check: ResultCheck | undefined;
		try {
			check = schema === undefined ? undefined : await compileSchema(schema, tenant);
		} catch (error) {
			if (!(error instanceof JobInputError)) throw error;
			const at = Date.now();
			await store.append({type: 'run', at});
			await store.append({type: 'done', at, status: 'failed', error: error.message});
			return 'failed';
		}
		const runner = new JobRunner({store, worker: work.worker, executors: work.executors, check});
		const running = runner.run();
		onRunner(runner);
		return await running;
	} finally {
		await work.dispose();
	}
}
