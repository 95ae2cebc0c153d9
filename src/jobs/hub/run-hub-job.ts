import {JobRunner} from '../engine/job-runner.js';
import {compileSchema} from '../engine/result-schema.js';
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

/** Runs a job of a hub to its end, or until the hub ends. The work is disposed of. */
export async function runHubJob(
	store: JobStore,
	work: OpenedWork,
	onRunner: (runner: JobRunner) => void,
): Promise<FinalStatus | 'left'> {
	try {
		const {schema} = store.job.rules;
		const check = schema === undefined ? undefined : await compileSchema(schema);
		const runner = new JobRunner({store, worker: work.worker, executors: work.executors, check});
		const running = runner.run();
		onRunner(runner);
		return await running;
	} finally {
		await work.dispose();
	}
}
