import {quoteForShell} from '../../../jobs/input/template.js';
import type {JobSummary, ListedJob} from '../../../jobs/output/job-summary.js';
import {shortJobId} from '../../../jobs/store/job-directory.js';
import type {OptionValues} from '../../command-definition.js';

/** How many items are in which state; those of a cancelled job that were not done count as cancelled. */
export function formatCounts(job: ListedJob): string {
	const {total_items: total, completed_items: completed, failed_items: failed} = job;
	const rest =
		job.status === 'cancelled'
			? `${job.cancelled_items} cancelled`
			: `${job.running_items} running, ${job.pending_items} pending`;
	return `${completed}/${total} done, ${failed} failed, ${rest}`;
}

/** How a job ended, for people. */
export function formatSummary(summary: JobSummary): string[] {
	const {status, total_items: total, completed_items: completed, failed_items: failed, job_error: error} = summary;
	const cancelled = summary.cancelled_items;
	const counts = [
		`${completed} of ${total} done`,
		...(failed > 0 ? [`${failed} failed`] : []),
		...(cancelled > 0 ? [`${cancelled} not done`] : []),
	];
	return [
		`job ${shortJobId(summary.job_id)} ${status}: ${counts.join(', ')}`,
		...(error === null ? [] : [`reason  ${error}`]),
		...formatFailures(summary),
		`output  ${summary.output_csv_path}`,
	];
}

/** The failed items that a summary names, under a heading. */
export function formatFailures({failed_item_errors: errors, failed_items: failed}: JobSummary): string[] {
	if (!errors || errors.length === 0) return [];
	const left = failed - errors.length;
	return [
		'failed items',
		...errors.map(each => `  ${each.item_id}: ${each.last_error}`),
		...(left > 0 ? [`  and ${left} more, see the output`] : []),
	];
}

/** The command that goes on with a job which did not complete every item; undefined if it did. */
export function formatResume(
	{job_id: jobId, status, failed_items: failed}: JobSummary,
	options: OptionValues,
): string | undefined {
	if (status === 'completed' && failed === 0) return undefined;
	const jobDir = options['jobDir'] as string | undefined;
	const directory = jobDir === undefined ? '' : ` --job-dir ${quoteForShell(jobDir)}`;
	const command = `longarm fanout resume ${shortJobId(jobId)}${directory}`;
	return status === 'completed'
		? `try the failed items again with: ${command} --retry-failed`
		: `go on with: ${command}`;
}
