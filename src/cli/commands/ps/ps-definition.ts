import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	JSON_OPTION,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {LABEL_FILTER_OPTION} from '../../common/processes/label-option.js';
import {EXIT} from '../../exit-codes.js';

export const PS: CommandDefinition = {
	name: 'ps',
	summary: 'list processes, who drives them and what they wait for',
	options: [
		{...ENVIRONMENT_OPTION, isRepeated: true, help: `${ENVIRONMENT_OPTION.help}; may be given several times`},
		...TRUST_OPTIONS,
		{flags: '-a, --all', help: 'those that have ended, too, as long as their output is kept'},
		LABEL_FILTER_OPTION,
		JSON_OPTION,
		{flags: '-w, --watch', help: 'show them anew every second, until Ctrl-C; needs a terminal'},
		QUIET_OPTION,
	],
	details: [
		'Shows the processes of all clients that you may look at. The driver is the client whose input the process gets; WAITING tells what a process waits for: input or password; disk, if the disk of the server takes no more output; limit, if its output fills the room that it was given on disk; reader, if its client does not read. A program that fills the screen, such as an editor, does not wait for input.',
		'A process is exited when it has ended and something it started still holds its output open, closed when that is over, too, and lost when it went down with the server or the keeper that ran it, so that its end is not known.',
		'--json prints a list of objects: {"id", "name", "state", "exitCode", "reason", "pid", "owner", "driver", "attached", "waitingFor", "durable", "labels", "tty", "rows", "cols", "startedAt", "ageMs", "outputBytes", "spilledBytes", "generation", "command"}, and "environment" with several -e. Members without a value are null.',
		'Processes of this machine are those of your local daemon. If it does not run, ps starts it only if it has left processes to list.',
	],
	examples: [
		{command: 'longarm ps'},
		{command: 'longarm ps -a -e devbox --label job=nightly'},
		{command: 'longarm ps -e devbox -e build --watch'},
		{command: `longarm ps --json | jq -r '.[] | select(.waitingFor) | .id'`, says: 'those that wait for something'},
	],
	exitCodes: [
		[`${EXIT.failed}`, 'an environment could not be asked; stderr says why, the others are shown'],
		COMMON_EXIT_CODES[1],
		[`${EXIT.interrupted}`, '--watch was ended by Ctrl-C'],
	],
	async run({options}) {
		const {ps} = await import('./ps-command.js');
		return ps({
			environments: (options['environment'] ?? []) as readonly string[],
			quiet: options['quiet'] === true,
			all: options['all'] === true,
			labels: (options['label'] ?? []) as readonly string[],
			json: options['json'] === true,
			watch: options['watch'] === true,
		});
	},
};
