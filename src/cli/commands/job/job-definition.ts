import {
	type CommandDefinition,
	type GroupDefinition,
	JSON_OPTION,
	type OptionDefinition,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {
	FAILURE_OPTIONS,
	INPUT_ARGUMENT,
	ITEM_OPTIONS,
	JOB_COMMAND_OPTIONS,
	JOB_FAILURE_CODES,
	PROGRESS_OPTION,
	RULE_OPTIONS,
	RUN_EXIT_CODES,
} from '../fanout/job-options.js';

const HUB_OPTIONS: readonly OptionDefinition[] = [
	{
		flags: '--hub <URL>',
		help: 'the hub: an http:// or https:// URL, or the name of an environment behind it, whose token and trust are used (default: LONGARM_HUB)',
		completes: {kind: 'environment'},
	},
	{
		flags: '--token-file <FILE>',
		help: 'take the client token for the hub from this file (default: that of the environment, or with a URL LONGARM_EXEC_SERVER_TOKEN)',
		completes: {kind: 'file'},
	},
	...TRUST_OPTIONS,
];
const HUB_JOB_ARGUMENT = {name: 'JOB', help: 'id of the job, or its first characters'};
const HUB_OUTPUT_OPTION: OptionDefinition = {
	flags: '--output <FILE>',
	help: 'the result; .jsonl writes JSON lines (default: INPUT.job-JOB.csv beside the input)',
	completes: {kind: 'file'},
};
const FOLLOW_OPTION: OptionDefinition = {
	flags: '--follow',
	help: 'show progress until the job has ended, and exit as longarm fanout does',
};

export const JOB: GroupDefinition = {name: 'job', summary: 'jobs that a hub runs: submit them and go away'};

export const JOB_SUBMIT: CommandDefinition = {
	name: 'job submit',
	summary: 'let a hub do the same for every row of a file',
	arguments: [INPUT_ARGUMENT],
	options: [
		...JOB_COMMAND_OPTIONS,
		...ITEM_OPTIONS,
		{
			flags: '--executor <SPEC>',
			help: 'where: a machine of the hub, pool:NAME, or @KEY=VALUE for all with a label; with ,slots=N and ,cwd=PATH behind it; may be given several times',
			isRepeated: true,
		},
		...RULE_OPTIONS,
		{
			flags: '--logs <WHICH>',
			help: 'keep the output of commands: all (default), failed, or none',
			completes: {kind: 'words', words: ['all', 'failed', 'none']},
		},
		...FAILURE_OPTIONS,
		FOLLOW_OPTION,
		HUB_OUTPUT_OPTION,
		PROGRESS_OPTION,
		JSON_OPTION,
		...HUB_OPTIONS,
	],
	details: [
		'The rows and the command are sent to a hub that was started with --jobs. It prints the id of the job when that is on the disks of the hub; from then on nothing of it depends on this machine. Options are those of longarm fanout.',
		'With --follow it waits for the end, writes the output, and prints the summary: on a terminal as lines for people, otherwise, and with --json, as JSON. Ctrl-C ends the waiting and not the job.',
		'An item may be started more than once, LONGARM_ATTEMPT says how often; its result is accepted once.',
	],
	examples: [
		{command: `longarm job submit rows.csv --cmd './work.sh {name}' --executor pool:gpu --hub https://hub.example`},
		{
			command: `longarm job submit hosts.csv --cmd 'ping -c1 {host}' --executor devbox,slots=4 --follow --hub https://hub.example`,
		},
	],
	exitCodes: RUN_EXIT_CODES,
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [input], options}) {
		const {submitJob} = await import('./job-submit.js');
		return submitJob(input as string, options);
	},
};

export const JOB_STATUS: CommandDefinition = {
	name: 'job status',
	summary: 'say how far a job of a hub is',
	arguments: [HUB_JOB_ARGUMENT],
	options: [FOLLOW_OPTION, PROGRESS_OPTION, JSON_OPTION, ...HUB_OPTIONS],
	examples: [
		{command: 'longarm job status 1f0c2d3e --hub https://hub.example'},
		{command: 'longarm job status 1f0c2d3e --follow --hub devbox', says: 'at the hub of devbox, with its token'},
	],
	exitCodes: RUN_EXIT_CODES,
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [job], options}) {
		const {showHubJob} = await import('./job-look.js');
		return showHubJob(job as string, options);
	},
};

export const JOB_LOGS: CommandDefinition = {
	name: 'job logs',
	summary: 'print the output of the last attempt at an item',
	arguments: [HUB_JOB_ARGUMENT, {name: 'ITEM', help: 'id of the item, such as row-3'}],
	options: [JSON_OPTION, ...HUB_OPTIONS],
	details: ['Standard output of the command goes to stdout, its standard error to stderr, as far as they were kept.'],
	examples: [{command: 'longarm job logs 1f0c2d3e row-3 --hub https://hub.example'}],
	exitCodes: RUN_EXIT_CODES.slice(2),
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [job, item], options}) {
		const {printLogs} = await import('./job-look.js');
		return printLogs(job as string, item as string, options);
	},
};

export const JOB_EXPORT: CommandDefinition = {
	name: 'job export',
	summary: 'fetch the output of a job of a hub, finished or not',
	arguments: [HUB_JOB_ARGUMENT],
	options: [
		{
			flags: '--output <FILE>',
			help: 'where; .jsonl writes JSON lines (default: INPUT.job-JOB.csv in this directory)',
			completes: {kind: 'file'},
		},
		...HUB_OPTIONS,
	],
	examples: [{command: 'longarm job export 1f0c2d3e --output so-far.csv --hub https://hub.example'}],
	exitCodes: RUN_EXIT_CODES.slice(2),
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [job], options}) {
		const {exportHubJob} = await import('./job-look.js');
		return exportHubJob(job as string, options);
	},
};

export const JOB_CANCEL: CommandDefinition = {
	name: 'job cancel',
	summary: 'end a job of a hub',
	arguments: [HUB_JOB_ARGUMENT],
	options: [
		{flags: '--drain-timeout <TIME>', help: 'running items may finish for this long (default: 10s)'},
		...HUB_OPTIONS,
	],
	details: ['No more items are started. Those that were not done stay pending in the output.'],
	examples: [{command: 'longarm job cancel 1f0c2d3e --hub https://hub.example'}],
	exitCodes: RUN_EXIT_CODES.slice(2),
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [job], options}) {
		const {cancelHubJob} = await import('./job-look.js');
		return cancelHubJob(job as string, options);
	},
};

export const JOB_LIST: CommandDefinition = {
	name: 'job list',
	summary: 'list the jobs of a hub',
	options: [JSON_OPTION, ...HUB_OPTIONS],
	details: ['Those of the tenant of the token, the oldest first. A job is kept for a week after its end.'],
	examples: [{command: 'longarm job list --hub https://hub.example'}],
	exitCodes: RUN_EXIT_CODES.slice(2),
	failureCodes: JOB_FAILURE_CODES,
	async run({options}) {
		const {listHubJobs} = await import('./job-look.js');
		return listHubJobs(options);
	},
};
