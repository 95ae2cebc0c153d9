import {requireUsableCommand} from '../../../jobs/command/command-spec.js';
import {createJob} from '../../../jobs/run-job.js';
import type {OptionValues} from '../../command-definition.js';
import {writeMessage} from '../../common/messages.js';
import {readRules, readWork} from './fanout-settings.js';
import {describeExecutors} from './job-executors.js';
import type {AgentSpec} from './job-worker.js';
import {readRunSettings, refuseBadInput, runStoredJob} from './run-stored-job.js';
import {findUnfinishedJob} from './unfinished-job.js';

/** Creates a job of the input and runs it to its end. */
export async function startFanout(input: string, options: OptionValues): Promise<number> {
	const settings = readRunSettings(options);
	const rules = readRules(options);
	const work = readWork(options);
	if (work.kind === 'agent') await checkAgents(work);
	const executors = await describeExecutors((options['executor'] ?? []) as readonly string[], rules.maxConcurrency);
	const {jobsDirectory} = settings;
	const store = await refuseBadInput(async () => {
		const created = await createJob({
			input,
			rules,
			work,
			executors,
			jobsDirectory,
			idColumn: options['idColumn'] as string | undefined,
			output: options['output'] as string | undefined,
		});
		try {
			// A command that cannot be used is an error before the first item.
			if (work.kind === 'command') requireUsableCommand(work, created.job);
			return created;
		} catch (error) {
			await created.remove();
			throw error;
		}
	});
	const unfinished = findUnfinishedJob(jobsDirectory, store.job);
	if (unfinished !== undefined) {
		writeMessage(
			`note: job ${unfinished} of the same command is not finished; longarm fanout resume ${unfinished} goes on with it`,
		);
	}
	return runStoredJob(store, settings);
}

/** A model that cannot be used is a mistake of the caller, before there is a job. */
async function checkAgents(work: AgentSpec): Promise<void> {
	const {checkModel} = await import('../../common/model/read-model.js');
	checkModel(work);
}
