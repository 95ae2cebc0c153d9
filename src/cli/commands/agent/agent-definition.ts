import {
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	type GroupDefinition,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {AGENT_WORKER_OPTIONS, MODEL_OPTIONS} from '../../common/model/model-option-definitions.js';
import {EXIT} from '../../exit-codes.js';

export const AGENT: GroupDefinition = {
	name: 'agent',
	summary: 'agents with commands on any machine, and workers on many',
};

export const AGENT_RUN: CommandDefinition = {
	name: 'agent run',
	summary: 'give a task to an agent, which may spread it over workers on many machines',
	arguments: [{name: 'PROMPT', help: 'the task; - reads it from standard input'}],
	options: [
		{...ENVIRONMENT_OPTION, help: `${ENVIRONMENT_OPTION.help}; commands and CSV files of the agent are there`},
		...TRUST_OPTIONS,
		...MODEL_OPTIONS,
		{
			flags: '--executor <SPEC>',
			help: 'where workers run, as for longarm fanout; may be given several times (default: where the agent does)',
			isRepeated: true,
			completes: {kind: 'environment'},
		},
		{flags: '--max-workers <N>', help: 'workers at a time, 1 to 64 (default: 64); the agent may ask for fewer'},
		...AGENT_WORKER_OPTIONS,
		{
			flags: '--cwd <DIR>',
			help: 'working directory of the agent there (default: this one locally, the one of the server otherwise)',
			completes: {kind: 'directory'},
		},
		{
			flags: '--job-dir <DIR>',
			help: 'directory for the state of jobs (default: fanout in the directory of longarm for state)',
			completes: {kind: 'directory'},
		},
		{flags: '--json', help: 'print everything that happens as JSON lines, not only the last message'},
		QUIET_OPTION,
	],
	details: [
		'The model gets the tools exec_command and write_stdin, whose commands run in the environment of -e, and spawn_agents_on_csv, which gives each row of a CSV file to a worker of its own. Model loops run here; only commands run there, so the key never leaves this machine except to the endpoint.',
		'Standard output gets the last message of the agent, standard error its commands and the progress of jobs. Jobs are kept on disk while they run (see longarm fanout).',
		'The exit code is decided by the completion of the turn of this agent alone; nothing a worker does ends it. Failed rows are in the output of the job and in its summary, and do not make the command fail.',
		'--json prints notifications: turn/started, item/completed, turn/retrying and turn/completed of the agent and its workers, which have threads of their own, and fanout/progress and fanout/event of jobs.',
	],
	examples: [
		{
			command:
				"longarm agent run --base-url https://api.openai.com/v1 --api-key-env OPENAI_API_KEY --model gpt-5 'Why does make test fail?'",
		},
		{
			command:
				"longarm agent run -e devbox --executor linux1 --executor linux2 --base-url $URL --api-key-env KEY --model gpt-5 'Review each file in files.csv with spawn_agents_on_csv'",
			says: 'workers on two machines',
		},
	],
	exitCodes: [
		[`${EXIT.ok}`, 'the agent finished its turn'],
		[`${EXIT.failed}`, 'the turn failed: the model cannot be reached or refuses, or --max-turns was reached'],
		[`${EXIT.misused}`, 'the command line or a setting is wrong; nothing was done'],
		[`${EXIT.interrupted}`, 'ended by Ctrl-C'],
	],
	async run({arguments: [prompt], options}) {
		const {runAgent} = await import('./agent-run-command.js');
		return runAgent(prompt as string, options);
	},
};
