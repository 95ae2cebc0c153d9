import {createHash} from 'node:crypto';
import {createReadStream, existsSync} from 'node:fs';
import {type CommandSpec, requireUsableCommand} from '../../../jobs/command/command-spec.js';
import {STANDARD_INPUT} from '../../../jobs/input/row-source.js';
import type {JobDescription} from '../../../jobs/job-description.js';
import {exportJob} from '../../../jobs/output/export-job.js';
import {summarizeJob} from '../../../jobs/output/job-summary.js';
import {DirectoryStore} from '../../../jobs/store/directory-store.js';
import {findJobId} from '../../../jobs/store/job-directory.js';
import {LongarmError} from '../../../shared/errors.js';
import type {OptionValues} from '../../command-definition.js';
import {JOB_EXIT} from './job-options.js';
import type {AgentSpec} from './job-worker.js';
import {readRunSettings, refuseBadInput, runStoredJob} from './run-stored-job.js';

/** Goes on with a job. */
export async function resumeFanout(given: string, options: OptionValues): Promise<number> {
	const settings = readRunSettings(options);
	const {jobsDirectory, strictColumns, finish} = settings;
	const retryFailed = options['retryFailed'] === true;
	const store = await DirectoryStore.open(jobsDirectory, findJobId(jobsDirectory, given), 'run');
	try {
		await refuseChangedInput(store.job);
		await refuseBadInput(async () => requireUsableWork(store.job));
	} catch (error) {
		await store.close();
		throw error;
	}
	const {status, counts} = store.table;
	if (status !== 'completed' || (retryFailed && counts.failed > 0)) return runStoredJob(store, settings, retryFailed);
	if (!existsSync(store.job.outputPath)) await exportJob(store, store.job.outputPath, {strictColumns});
	finish(await summarizeJob(store));
	await store.close();
	return counts.failed > 0 ? JOB_EXIT.itemsFailed : JOB_EXIT.ok;
}

/** A job of an earlier version may have a command that is not taken any more. */
function requireUsableWork(job: JobDescription): void {
	const work = job.work as CommandSpec | AgentSpec | null;
	if (work?.kind === 'command') requireUsableCommand(work, job);
}

/** The rows of the job are its own; but results of rows that are not those of the file any more would mislead. */
async function refuseChangedInput({inputPath, inputHash}: JobDescription): Promise<void> {
	if (inputPath === STANDARD_INPUT || !existsSync(inputPath)) return;
	const hash = createHash('sha256');
	for await (const chunk of createReadStream(inputPath)) hash.update(chunk as Uint8Array);
	if (hash.digest('hex') === inputHash) return;
	throw new LongarmError('JOB_UNUSABLE', {message: `${inputPath} has changed since the job was created`});
}
