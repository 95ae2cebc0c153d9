import {basename} from 'node:path';
import {formatOfInput, readInput} from '../../../jobs/input/row-source.js';
import {defaultOutputPath, shortJobId} from '../../../jobs/store/job-directory.js';
import type {OptionValues} from '../../command-definition.js';
import {writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {parseWholeNumber} from '../../common/processes/option-values.js';
import {usageError} from '../../exit-codes.js';
import {readRules, readWork} from '../fanout/fanout-settings.js';
import {JOB_EXIT} from '../fanout/job-options.js';
import {refuseBadInput, writeSummary} from '../fanout/run-stored-job.js';
import {followJob, readReporter} from './follow-job.js';
import {JobsClient} from './jobs-client.js';
import {writeItems} from './write-items.js';

const SETTING = /,(slots|cwd)=([^,]*)$/;

/** Sends a job to a hub, and waits for its end if that is wanted. */
export async function submitJob(input: string, options: OptionValues): Promise<number> {
	const rules = readRules(options);
	const work = readWork(options);
	if (work.kind === 'agent') throw usageError('agents run where the key of their model is: use longarm fanout --agent');
	const executors = readExecutors((options['executor'] ?? []) as readonly string[], rules.maxConcurrency);
	const reporter = readReporter(options);
	const {output, idColumn, follow} = options;
	if (output !== undefined && follow !== true)
		throw usageError('--output goes with --follow; later there is longarm job export');
	const client = await JobsClient.open(options);
	const inputFormat = formatOfInput(input);
	const jobId = await refuseBadInput(() =>
		client.submit(
			{
				inputName: basename(input),
				inputFormat,
				...(idColumn !== undefined && {idColumn: idColumn as string}),
				rules: {...rules, retryOn: [...rules.retryOn]},
				command: {
					...work,
					command: 'argv' in work.command ? {argv: [...work.command.argv]} : work.command,
				},
				executors,
			},
			readInput(input, inputFormat),
		),
	);
	if (follow !== true) {
		if (options['json'] === true) writeJson({job_id: jobId});
		else writeLines([jobId]);
		return JOB_EXIT.ok;
	}
	writeMessage(`job ${shortJobId(jobId)} is on its way; Ctrl-C leaves it running`);
	const path = (output as string | undefined) ?? defaultOutputPath(input, jobId, 'job');
	const {listed, exitCode} = await followJob(client, jobId, reporter);
	await writeItems(client, jobId, path);
	writeSummary({...listed, output_csv_path: path}, options);
	return exitCode;
}

/** `NAME`, `pool:NAME` or `@KEY=VALUE`, with `,slots=N` and `,cwd=PATH` behind it. */
function readExecutors(specs: readonly string[], defaultSlots: number): {name: string; slots: number; cwd?: string}[] {
	if (specs.length === 0) throw usageError('say where with --executor: a machine of the hub, pool:NAME or @KEY=VALUE');
	return specs.map(spec => {
		let rest = spec;
		let slots = defaultSlots;
		let cwd: string | undefined;
		for (let match = SETTING.exec(rest); match; match = SETTING.exec(rest)) {
			if (match[1] === 'cwd') cwd = match[2]!;
			else slots = parseWholeNumber('--executor: slots', match[2]!);
			rest = rest.slice(0, match.index);
		}
		if (slots === 0) throw usageError('--executor: slots must be 1 or more');
		return {name: rest, slots, ...(cwd !== undefined && {cwd})};
	});
}
