import {type CommandDefinition, JSON_OPTION, type OptionDefinition} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {AGENT_WORKER_OPTIONS, MODEL_OPTIONS} from '../../common/model/model-option-definitions.js';
import type {FailureCodes} from '../../exit-codes.js';

/** Exit codes of jobs; those of failures of the command itself are 4 and 64. */
export const JOB_EXIT = {ok: 0, itemsFailed: 2, cancelled: 3, failed: 4, misused: 64} as const;
const JOB_FAILURE_CODES: FailureCodes = {failed: JOB_EXIT.failed, misused: JOB_EXIT.misused};

const JOB_DIR_OPTION: OptionDefinition = {
	flags: '--job-dir <DIR>',
	help: 'directory of all jobs (default: longarm/fanout in XDG_STATE_HOME, or in ~/.local/state)',
	completes: {kind: 'directory'},
};
const JOB_ARGUMENT = {name: 'JOB', help: 'id of the job, or its first characters'};
const PROGRESS_OPTION: OptionDefinition = {
	flags: '--progress <FORM>',
	help: 'on stderr: auto (a line on a terminal), line, jsonl (every event as JSON), or none',
	completes: {kind: 'words', words: ['auto', 'line', 'jsonl', 'none']},
};
const RUN_OPTIONS: readonly OptionDefinition[] = [
	PROGRESS_OPTION,
	{
		flags: '--drain-timeout <TIME>',
		help: 'after Ctrl-C running items may finish for this long (default: 10s); a second Ctrl-C ends them at once',
	},
	{flags: '--strict-columns', help: 'write no columns executor, exit_code and duration_ms'},
	JOB_DIR_OPTION,
	...TRUST_OPTIONS,
];
const RUN_EXIT_CODES = [
	[`${JOB_EXIT.itemsFailed}`, 'the job is finished, and items have failed'],
	[`${JOB_EXIT.cancelled}`, 'the job was cancelled'],
	[`${JOB_EXIT.failed}`, 'the job failed; stderr or job_error says why'],
	[`${JOB_EXIT.misused}`, 'the command line or the input is wrong; nothing was done'],
] as const;

export const FANOUT: CommandDefinition = {
	name: 'fanout',
	summary: 'do the same for every row of a file, on one or many machines',
	arguments: [
		{
			name: 'INPUT',
			help: 'a .csv file with a header, a .jsonl file, or - for JSON lines on stdin',
			completes: {kind: 'file'},
		},
	],
	options: [
		{
			flags: '--cmd <TEMPLATE>',
			help: 'a line for sh; {column} is the value as one word, {column!raw} as it is, {{ a brace',
		},
		{flags: '--argv <JSON>', help: 'a program and its arguments as a JSON list, without a shell'},
		{flags: '--agent', help: 'an agent for every row, with --instruction, --model and --base-url'},
		{
			flags: '--instruction <TEXT>',
			help: 'what the agent does; @FILE reads it from a file; {column} as above, unknown names stay',
		},
		...MODEL_OPTIONS,
		...AGENT_WORKER_OPTIONS,
		{
			flags: '--output <FILE>',
			help: 'the result; .jsonl writes JSON lines (default: INPUT.fanout-JOB.csv beside the input)',
			completes: {kind: 'file'},
		},
		{flags: '--id-column <NAME>', help: 'column with the ids of items (default: row-1, row-2, ...)'},
		{flags: '--max-concurrency <N>', help: 'items at once, from 1 to 64 (default: 16)'},
		{flags: '--no-cap', help: 'allow more than 64 items at once'},
		{
			flags: '--executor <SPEC>',
			help: 'where: a name from environments.toml, @KEY=VALUE for all with a label, NAME=URL, or local (the default); with ,slots=N and ,cwd=PATH behind it; may be given several times',
			isRepeated: true,
			completes: {kind: 'environment'},
		},
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
			help: 'of commands: auto (a report, else stdout), stdout, last-line, report, or exit (exit code 0 is success)',
			completes: {kind: 'words', words: ['auto', 'stdout', 'last-line', 'report', 'exit']},
		},
		{flags: '--schema <FILE>', help: 'JSON Schema that results have to match', completes: {kind: 'file'}},
		{
			flags: '--stdin <MODE>',
			help: 'of commands: row (the row as JSON, the default), or none',
			completes: {kind: 'words', words: ['row', 'none']},
		},
		{
			flags: '--logs <WHICH>',
			help: 'keep the output of commands in the job directory: all (default), failed, or none',
			completes: {kind: 'words', words: ['all', 'failed', 'none']},
		},
		{flags: '--fail-fast', help: 'cancel the job when an item has failed'},
		{flags: '--max-failures <N>', help: 'cancel the job when so many items have failed'},
		...RUN_OPTIONS,
	],
	details: [
		'A command finds its row on stdin and in LONGARM_ROW, and LONGARM_ITEM_ID, LONGARM_ROW_INDEX, LONGARM_ATTEMPT and LONGARM_JOB_ID. Its result is a JSON object: what longarm report was given, a file at LONGARM_REPORT_FILE, or what it prints.',
		'Every step is on disk before it counts. A job whose runner was killed goes on with longarm fanout resume; completed items are never done again. An item may be started more than once, LONGARM_ATTEMPT says how often.',
		'The summary goes to stdout as JSON: {"job_id", "status", "output_csv_path", "total_items", "completed_items", "failed_items", "cancelled_items", "job_error", "failed_item_errors"}. A file called resume, status, cancel, export or list is given as ./resume.',
	],
	examples: [
		{command: `longarm fanout hosts.csv --cmd 'ping -c1 {host}' --result exit`},
		{
			command: `longarm fanout images.csv --argv '["convert","{from}","{to}"]' --result exit --executor a --executor b,slots=4`,
		},
		{command: `longarm fanout rows.csv --cmd './work.sh' --schema result.json --retries 2 --retry-on lost,exit`},
		{
			command: `longarm fanout cats.csv --agent --instruction 'Write about {name}' --model M --base-url http://127.0.0.1:8080/v1`,
		},
	],
	exitCodes: RUN_EXIT_CODES,
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [input], options}) {
		const {startFanout} = await import('./fanout-start.js');
		return startFanout(input as string, options);
	},
};

export const FANOUT_RESUME: CommandDefinition = {
	name: 'fanout resume',
	summary: 'go on with a job that was interrupted or cancelled',
	arguments: [JOB_ARGUMENT],
	options: [{flags: '--retry-failed', help: 'try failed items again'}, ...RUN_OPTIONS],
	details: [
		'Attempts that still run on another machine are followed to their end; those of this machine are ended and done again. An input that has changed since is refused.',
	],
	examples: [{command: 'longarm fanout resume 1f0c2d3e'}, {command: 'longarm fanout resume 1f0c2d3e --retry-failed'}],
	exitCodes: RUN_EXIT_CODES,
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [job], options}) {
		const {resumeFanout} = await import('./fanout-resume.js');
		return resumeFanout(job as string, options);
	},
};

export const FANOUT_STATUS: CommandDefinition = {
	name: 'fanout status',
	summary: 'say how far a job is',
	arguments: [JOB_ARGUMENT],
	options: [JSON_OPTION, JOB_DIR_OPTION],
	examples: [{command: 'longarm fanout status 1f0c2d3e'}, {command: 'longarm fanout status 1f0c2d3e --json'}],
	exitCodes: RUN_EXIT_CODES.slice(2),
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [job], options}) {
		const {showStatus} = await import('./fanout-look.js');
		return showStatus(job as string, options);
	},
};

export const FANOUT_CANCEL: CommandDefinition = {
	name: 'fanout cancel',
	summary: 'end a job',
	arguments: [JOB_ARGUMENT],
	options: [
		{flags: '--drain-timeout <TIME>', help: 'running items may finish for this long (default: 10s)'},
		JOB_DIR_OPTION,
	],
	details: [
		'No more items are started. Those that were not done stay pending in the output; longarm fanout resume goes on with them.',
	],
	examples: [{command: 'longarm fanout cancel 1f0c2d3e'}],
	exitCodes: RUN_EXIT_CODES.slice(2),
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [job], options}) {
		const {cancelFanout} = await import('./fanout-cancel.js');
		return cancelFanout(job as string, options);
	},
};

export const FANOUT_EXPORT: CommandDefinition = {
	name: 'fanout export',
	summary: 'write the output of a job, finished or not',
	arguments: [JOB_ARGUMENT],
	options: [
		{
			flags: '--output <FILE>',
			help: 'where (default: where the job writes it); .jsonl writes JSON lines',
			completes: {kind: 'file'},
		},
		{flags: '--strict-columns', help: 'write no columns executor, exit_code and duration_ms'},
		JOB_DIR_OPTION,
	],
	examples: [{command: 'longarm fanout export 1f0c2d3e --output so-far.csv'}],
	exitCodes: RUN_EXIT_CODES.slice(2),
	failureCodes: JOB_FAILURE_CODES,
	async run({arguments: [job], options}) {
		const {exportFanout} = await import('./fanout-look.js');
		return exportFanout(job as string, options);
	},
};

export const FANOUT_LIST: CommandDefinition = {
	name: 'fanout list',
	summary: 'list the jobs that are kept',
	options: [JSON_OPTION, JOB_DIR_OPTION],
	examples: [{command: 'longarm fanout list'}],
	exitCodes: RUN_EXIT_CODES.slice(2),
	failureCodes: JOB_FAILURE_CODES,
	async run({options}) {
		const {listFanouts} = await import('./fanout-look.js');
		return listFanouts(options);
	},
};
