import type {ListedJob} from '../../../jobs/output/job-summary.js';
import {RegistryError} from '../../../transports/node/relay/registry-errors.js';
import type {OptionValues} from '../../command-definition.js';
import {readWord} from '../fanout/fanout-settings.js';
import {JobReporter, PROGRESS_FORMS} from '../fanout/job-progress.js';
import {exitCodeOf} from '../fanout/run-stored-job.js';
import type {JobsClient} from './jobs-client.js';

const LOOK_MS = 1000;
/** A hub that does not answer for so long is given up. */
const MAX_OUTAGE_MS = 300_000;

export function readReporter(options: OptionValues): JobReporter {
	return new JobReporter(readWord(options['progress'], '--progress', PROGRESS_FORMS));
}

/** Shows progress until the job has ended. A hub that is started again meanwhile is waited for. */
export async function followJob(
	client: JobsClient,
	jobId: string,
	reporter: JobReporter,
): Promise<{readonly listed: ListedJob; readonly exitCode: number}> {
	const startedAt = performance.now();
	let heardAt = startedAt;
	let doneBefore: number | undefined;
	for (;;) {
		try {
			const listed = await client.find(jobId);
			heardAt = performance.now();
			doneBefore ??= countDone(listed);
			reporter.tell({type: 'job.progress', ...progressOf(listed, doneBefore, heardAt - startedAt)});
			if (listed.status !== 'pending' && listed.status !== 'running') {
				reporter.tell({type: 'job.finished', job_id: jobId, status: listed.status});
				reporter.end();
				return {listed, exitCode: exitCodeOf(listed)};
			}
		} catch (error) {
			const isPassing = error instanceof RegistryError && error.isPassing;
			if (!isPassing || performance.now() - heardAt > MAX_OUTAGE_MS) throw error;
		}
		await new Promise(resolve => setTimeout(resolve, LOOK_MS));
	}
}

function progressOf(listed: ListedJob, doneBefore: number, elapsedMs: number) {
	const {job_id, total_items, pending_items, running_items, completed_items, failed_items} = listed;
	const rate = elapsedMs > 0 ? (1000 * (countDone(listed) - doneBefore)) / elapsedMs : 0;
	const left = pending_items + running_items;
	return {
		job_id,
		total_items,
		pending_items,
		running_items,
		completed_items,
		failed_items,
		eta_seconds: left === 0 ? 0 : rate > 0 ? Math.round(left / rate) : null,
		elapsed_ms: Math.round(elapsedMs),
		rate: Math.round(10 * rate) / 10,
	};
}

function countDone({completed_items: completed, failed_items: failed}: ListedJob): number {
	return completed + failed;
}
