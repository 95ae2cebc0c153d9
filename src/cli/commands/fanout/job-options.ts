import type {ArgumentDefinition, OptionDefinition} from '../../command-definition.js';
import type {FailureCodes} from '../../exit-codes.js';

/** Exit codes of jobs; those of failures of the command itself are 4 and 64. */
export const JOB_EXIT = {ok: 0, itemsFailed: 2, cancelled: 3, failed: 4, misused: 64} as const;
export const JOB_FAILURE_CODES: FailureCodes = {failed: JOB_EXIT.failed, misused: JOB_EXIT.misused};

export const INPUT_ARGUMENT: ArgumentDefinition = {
	name: 'INPUT',
	help: 'a .csv file with a header, a .jsonl file, or - for JSON lines on stdin',
	completes: {kind: 'file'},
};

/** The command of a job. */
export const JOB_COMMAND_OPTIONS: readonly OptionDefinition[] = [
	{
		flags: '--cmd <TEMPLATE>',
		help: 'a line for sh; {column} is the value as one word, {column!raw} as it is, {{ a brace',
	},
	{flags: '--argv <JSON>', help: 'a program and its arguments as a JSON list, without a shell'},
];

export const OUTPUT_OPTION: OptionDefinition = {
	flags: '--output <FILE>',
	help: 'the result; .jsonl writes JSON lines (default: INPUT.fanout-JOB.csv beside the input)',
	completes: {kind: 'file'},
};

export const ITEM_OPTIONS: readonly OptionDefinition[] = [
	{flags: '--id-column <NAME>', help: 'column with the ids of items (default: row-1, row-2, ...)'},
	{flags: '--max-concurrency <N>', help: 'items at once, from 1 to 64 (default: 16)'},
	{flags: '--no-cap', help: 'allow more than 64 items at once'},
];

/** Rules for attempts and results. */
export const RULE_OPTIONS: readonly OptionDefinition[] = [
	{
		flags: '--placement <RULE>',
		help: 'least-busy (default), round-robin, or column:NAME for the executor that the row names',
	},
	{
		flags: '--lease <TIME>',
		help: 'an item of an executor that cannot be reached goes elsewhere after this long (default: 1m)',
	},
	{flags: '--max-runtime <SECONDS>', help: 'time limit of one attempt, 1 or more (default: 1800)'},
	{flags: '--retries <N>', help: 'further attempts at an item that failed (default: 0)'},
	{flags: '--retry-on <REASONS>', help: 'which failures: lost,timeout,exit,schema,start,model (default: lost)'},
	{
		flags: '--count-lost',
		help: 'count an attempt that was lost with the runner or an executor as one of the retries',
	},
	{
		flags: '--result <MODE>',
		help: 'what counts as the result of a command: any (a report, else a JSON object that it prints, else exit code 0; the default), auto (a report or an object, and nothing else; the default with --schema), stdout, last-line, report, or exit (exit code 0 is success, whatever it prints)',
		completes: {kind: 'words', words: ['any', 'auto', 'stdout', 'last-line', 'report', 'exit']},
	},
	{flags: '--schema <FILE>', help: 'JSON Schema that results have to match', completes: {kind: 'file'}},
	{
		flags: '--stdin <MODE>',
		help: 'of commands: row (the row as JSON, the default), or none',
		completes: {kind: 'words', words: ['row', 'none']},
	},
];

export const FAILURE_OPTIONS: readonly OptionDefinition[] = [
	{flags: '--fail-fast', help: 'cancel the job when an item has failed'},
	{flags: '--max-failures <N>', help: 'cancel the job when so many items have failed'},
];

export const PROGRESS_OPTION: OptionDefinition = {
	flags: '--progress <FORM>',
	help: 'on stderr: auto (a line on a terminal), line, jsonl (every event as JSON), or none',
	completes: {kind: 'words', words: ['auto', 'line', 'jsonl', 'none']},
};

/** Exit codes of commands that wait for the end of a job. */
export const RUN_EXIT_CODES = [
	[`${JOB_EXIT.itemsFailed}`, 'the job is finished, and items have failed'],
	[`${JOB_EXIT.cancelled}`, 'the job was cancelled'],
	[`${JOB_EXIT.failed}`, 'the job failed; stderr or job_error says why'],
	[`${JOB_EXIT.misused}`, 'the command line or the input is wrong; nothing was done'],
] as const;
