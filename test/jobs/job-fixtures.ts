import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import type {CommandSpec} from '../../src/jobs/command/command-spec.js';
import {CommandWorker} from '../../src/jobs/command/command-worker.js';
import type {AttemptOutcome, ItemAttempt, ItemWorker, JobExecutor} from '../../src/jobs/item-worker.js';
import type {JobRules} from '../../src/jobs/job-description.js';
import {type CreateJobOptions, createJob} from '../../src/jobs/run-job.js';
import type {DirectoryStore} from '../../src/jobs/store/directory-store.js';
import {scratchDirectory} from '../helpers/scratch.js';

/** Six rows. */
export const NAMES = 'name\ncat_1\ncat_2\ncat_3\ncat_4\ncat_5\ncat_6\n';

/** A job of this input; closed with the test. */
export async function newJob(
	text: string,
	rules: Partial<JobRules> = {},
	options: Partial<CreateJobOptions> = {},
): Promise<DirectoryStore> {
	const directory = scratchDirectory();
	const input = join(directory, 'in.csv');
	writeFileSync(input, text);
	const output = join(directory, 'out.csv');
	const store = await createJob({input, output, rules, jobsDirectory: join(directory, 'jobs'), ...options});
	onTestFinished(() => store.close());
	return store;
}

/** This machine as an executor. */
export function here(slots = 64, name = 'local'): JobExecutor {
	const environment = Environment.local(name);
	onTestFinished(() => environment.close());
	return {name, environment, slots};
}

/** A worker that does this with every attempt. */
export function workerOf(run: (attempt: ItemAttempt) => Promise<AttemptOutcome>): ItemWorker {
	return {run};
}

/** Reports the id of the item. */
export const reporting = workerOf(async attempt => {
	await attempt.report({item_id: attempt.itemId});
	return {kind: 'reported'};
});

/** A worker that runs this line of the shell for every item. */
export function commandWorker(store: DirectoryStore, line: string, options: Partial<CommandSpec> = {}): CommandWorker {
	const spec: CommandSpec = {kind: 'command', command: {line}, result: 'auto', stdin: 'row', logs: 'all', ...options};
	return new CommandWorker({job: store.job, spec, directory: store.directory});
}
