import {COMMON_EXIT_CODES, type CommandDefinition, ENVIRONMENT_OPTION, QUIET_OPTION} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const REPLAY: CommandDefinition = {
	name: 'replay',
	summary: 'show the output of a process again, at the pace at which it came',
	arguments: [
		{
			name: 'ID',
			help: 'id or name of the process, a link of longarm share, or an asciicast file of this machine',
			completes: {kind: 'process'},
		},
	],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{flags: '--speed <FACTOR>', help: 'twice as fast with 2, half as fast with 0.5 (default: 1)'},
		{flags: '--idle <TIME>', help: 'cut times without output to this, 2s say'},
		QUIET_OPTION,
	],
	details: [
		'Plays what is kept of the output of a process up to now, or a file in the format of asciinema (asciicast v2 and v3). A text with a slash, one that ends with .cast and, without -e, the name of a file that is there are files. Ctrl-C ends it.',
	],
	examples: [
		{command: 'longarm replay build --speed 4 --idle 1s'},
		{command: 'longarm replay -e devbox deploy'},
		{command: 'longarm replay build.cast'},
	],
	exitCodes: [
		...COMMON_EXIT_CODES,
		[`${EXIT.notRun}`, 'output is missing that is no longer kept, and standard output is no terminal'],
		[`${EXIT.interrupted}`, 'ended by Ctrl-C'],
		[`${EXIT.brokenPipe}`, 'the reader of the output closed the pipe (SIGPIPE)'],
	],
	async run({arguments: [given], options}) {
		const {replayCommand} = await import('./replay-command.js');
		return replayCommand(given as string, {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			speed: options['speed'] as string | undefined,
			idle: options['idle'] as string | undefined,
		});
	},
};
