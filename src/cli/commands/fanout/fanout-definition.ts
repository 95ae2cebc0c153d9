import {type CommandDefinition, JSON_OPTION, type OptionDefinition} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {AGENT_WORKER_OPTIONS, MODEL_OPTIONS} from '../../common/model/model-option-definitions.js';
import {
	FAILURE_OPTIONS,
	INPUT_ARGUMENT,
	ITEM_OPTIONS,
	JOB_COMMAND_OPTIONS,
	JOB_FAILURE_CODES,
	OUTPUT_OPTION,
	PROGRESS_OPTION,
	RULE_OPTIONS,
	RUN_EXIT_CODES,
} from './job-options.js';

const JOB_DIR_OPTION: OptionDefinition = {
	flags: '--job-dir <DIR>',
	help: 'directory of all jobs (default: longarm/fanout in XDG_STATE_HOME, or in ~/.local/state)',
	completes: {kind: 'directory'},
};
const JOB_ARGUMENT = {name: 'JOB', help: 'id of the job, or its first characters'};
const RUN_OPTIONS: readonly OptionDefinition[] = [
	PROGRESS_OPTION,
	{flags: '--json', help: 'print the summary as JSON on a terminal, too'},
	{
		flags: '--drain-timeout <TIME>',
		help: 'after Ctrl-C running items may finish for this long (default: 10s); a second Ctrl-C ends them at once',
	},
	{flags: '--strict-columns', help: 'write no columns executor, exit_code and duration_ms'},
	JOB_DIR_OPTION,
	...TRUST_OPTIONS,
];
export const FANOUT: CommandDefinition = {
	name: 'fanout',
	summary: 'do the same for every row of a file, on one or many machines',
	arguments: [INPUT_ARGUMENT],
	options: [
		...JOB_COMMAND_OPTIONS,
		{flags: '--agent', help: 'an agent for every row, with --instruction, --model and --base-url'},
		{
			flags: '--instruction <TEXT>',
			help: 'what the agent does; @FILE reads it from a file; {column} as above, unknown names stay',
		},
		...MODEL_OPTIONS,
		...AGENT_WORKER_OPTIONS,
		OUTPUT_OPTION,
		...ITEM_OPTIONS,
		{
			flags: '--executor <SPEC>',
			help: 'where: a name from environments.toml, @KEY=VALUE for all with a label, pool:NAME for all members of a pool at a hub, NAME=URL, or local (the default); with ,slots=N and ,cwd=PATH behind it; may be given several times',
			isRepeated: true,
			completes: {kind: 'environment'},
		},
		...RULE_OPTIONS,
		{
			flags: '--logs <WHICH>',
			help: 'keep the output of commands in the job directory: all (default), failed, or none',
			completes: {kind: 'words', words: ['all', 'failed', 'none']},
		},
		...FAILURE_OPTIONS,
		...RUN_OPTIONS,
	],
	details: [
		'A command finds its row on stdin and in LONGARM_ROW, and LONGARM_ITEM_ID, LONGARM_ROW_INDEX, LONGARM_ATTEMPT and LONGARM_JOB_ID. An item is done when its command exits with 0. Its result is a JSON object: what longarm report was given, a file at LONGARM_REPORT_FILE, or what it prints; else its exit code and output are the result, unless there is a --schema. --result says otherwise.',
		'Every step is on disk before it counts. A job whose runner was killed goes on with longarm fanout resume; completed items are never done again. An item may be started more than once, LONGARM_ATTEMPT says how often.',
		'Ctrl-C cancels the job, and a line on stderr tells the command that goes on with it. The summary goes to stdout: lines for people on a terminal, otherwise, and with --json, one JSON object: {"job_id", "status", "output_csv_path", "total_items", "completed_items", "failed_items", "cancelled_items", "job_error", "failed_item_errors"}. A file called resume, status, cancel, export or list is given as ./resume.',
	],
	examples: [
		{command: `longarm fanout hosts.csv --cmd 'ping -c1 {host}'`},
		{
			command: `longarm fanout images.csv --argv '["convert","{from}","{to}"]' --executor a --executor b,slots=4`,
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
