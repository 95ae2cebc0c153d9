import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	PROCESS_ARGUMENT,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const STOP: CommandDefinition = {
	name: 'stop',
	summary: 'end processes: ask them first, and kill them after a while',
	arguments: [{...PROCESS_ARGUMENT, isRepeated: true}],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{
			flags: '-s, --signal <SIGNAL>',
			help: 'ask with this signal only (default: TERM, and HUP first for an interactive shell)',
			completes: {kind: 'words', words: ['TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2', 'KILL']},
		},
		{flags: '--grace <TIME>', help: 'kill it after this time (default: 10s)'},
		QUIET_OPTION,
	],
	details: [
		'Everything that a process has started ends with it; what could not be ended is listed on stderr. A process that has ended already is no failure.',
		'Interactive shells ignore SIGTERM. A process on a terminal that ignores it gets SIGHUP first, as from a terminal that is closed.',
		'Only the owner of a process may stop it, and becomes its driver with --signal.',
	],
	examples: [
		{command: 'longarm stop web'},
		{command: 'longarm stop -e devbox web worker --grace 1m'},
		{command: 'longarm stop web --signal INT'},
	],
	exitCodes: [
		[`${EXIT.failed}`, 'one could not be stopped, or has left something behind; stderr says what'],
		COMMON_EXIT_CODES[1],
	],
	async run({arguments: [ids], options}) {
		const {stop} = await import('./stop-command.js');
		return stop(ids as readonly string[], {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			signal: options['signal'] as string | undefined,
			grace: options['grace'] as string | undefined,
		});
	},
};
