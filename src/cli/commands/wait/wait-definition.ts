import {
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	JSON_OPTION,
	QUIET_OPTION,
	SHARED_PROCESS_ARGUMENT,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT, PASSED_THROUGH_FAILURE_CODES} from '../../exit-codes.js';

export const WAIT: CommandDefinition = {
	name: 'wait',
	summary: 'wait until a process has ended, says something, listens, is silent or asks',
	arguments: [SHARED_PROCESS_ARGUMENT],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{flags: '--exit', help: 'until it has ended, and end with its exit code (default)'},
		{flags: '--text <REGEX>', help: 'until its output matches, from the oldest that is kept'},
		{flags: '--port <PORT>', help: 'until a program listens on this TCP port there'},
		{flags: '--silence <TIME>', help: 'until it has written nothing for so long'},
		{flags: '--input', help: 'until it waits for input, or for a password'},
		{flags: '--timeout <TIME>', help: 'give up after this time; the process runs on'},
		JSON_OPTION,
		QUIET_OPTION,
	],
	details: [
		'The server waits, whatever the process writes meanwhile. With several conditions the first that is met ends it. A line on standard output says which one.',
		'--json prints {"by"}, which is exit (with "exitCode" and "reason"), text (with "match" and "groups"), port (with "port"), silence, input (with "waitingFor", input or password, and "isGuess"), timeout or ended.',
	],
	examples: [
		{command: 'longarm wait build && echo it works'},
		{command: `longarm wait web --text 'listening on (\\S+)' --timeout 1m`},
		{command: 'longarm wait web --port 8080 --json'},
		{command: 'longarm wait deploy --input --exit', says: 'until somebody has to answer, or it is over'},
	],
	exitCodes: [
		['N', 'the process exited with N; 128+n if signal n ended it'],
		['0', 'another condition was met'],
		[`${EXIT.timedOut}`, '--timeout was over first'],
		[`${EXIT.notRun}`, 'the process ended before that, its end is not known, or longarm itself failed'],
		[`${EXIT.interrupted}`, 'ended by Ctrl-C'],
	],
	failureCodes: PASSED_THROUGH_FAILURE_CODES,
	async run({arguments: [id], options}) {
		const {wait} = await import('./wait-command.js');
		return wait(id as string, {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			exit: options['exit'] === true,
			text: options['text'] as string | undefined,
			port: options['port'] as string | undefined,
			silence: options['silence'] as string | undefined,
			input: options['input'] === true,
			timeout: options['timeout'] as string | undefined,
			json: options['json'] === true,
		});
	},
};
