import {
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	QUIET_OPTION,
	SHARED_PROCESS_ARGUMENT,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT, PASSED_THROUGH_FAILURE_CODES} from '../../exit-codes.js';

export const ATTACH: CommandDefinition = {
	name: 'attach',
	ownsStreams: true,
	summary: 'watch a process on this terminal, or drive it',
	arguments: [SHARED_PROCESS_ARGUMENT],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{flags: '--observe', help: 'only watch'},
		{flags: '--take', help: 'drive it, whoever does now; the driver so far keeps watching'},
		QUIET_OPTION,
	],
	details: [
		'Without --observe and --take you drive if no other client does, and watch otherwise. Only the driver types, and the terminal over there has the size of the window of its driver. A line tells when the driver changes.',
		'At the beginning of a line, ~d leaves and the process runs on; ~. does the same whatever the link does; ~t takes over; ~o gives the seat back and keeps watching; ~~ is one tilde. An observer types none but these, and may leave with Ctrl-C, too.',
		'First the present screen of its terminal is shown, or the last lines of its output. A lost connection is retried for as long as our terminal is open (Ctrl-C or ~. gives up), without a terminal for 45 seconds.',
	],
	examples: [
		{command: 'longarm attach build'},
		{command: 'longarm attach -e devbox --observe deploy'},
		{command: 'longarm attach --take deploy', says: 'to type a password, say; ~o gives it back'},
		{command: "longarm attach 'wss://devbox:4500#share=TOKEN&process=build'", says: 'a link of longarm share'},
	],
	exitCodes: [
		['0', 'you left, and the process runs on'],
		['N', 'the process exited with N; 128+n if signal n ended it'],
		[
			`${EXIT.notRun}`,
			'longarm itself failed: no such process, unreachable, link or output lost, not allowed, wrong usage',
		],
		[`${EXIT.interrupted}`, 'you left with Ctrl-C, and the process runs on'],
		[`${EXIT.brokenPipe}`, 'the reader of the output closed the pipe (SIGPIPE)'],
	],
	failureCodes: PASSED_THROUGH_FAILURE_CODES,
	async run({arguments: [id], options}) {
		const {attachCommand} = await import('./attach-command.js');
		return attachCommand(id as string, {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			observe: options['observe'] === true,
			take: options['take'] === true,
		});
	},
};
