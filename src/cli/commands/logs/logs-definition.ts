import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	QUIET_OPTION,
	SHARED_PROCESS_ARGUMENT,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const LOGS: CommandDefinition = {
	name: 'logs',
	ownsStreams: true,
	summary: 'write the output of a process, also of one that has ended',
	arguments: [SHARED_PROCESS_ARGUMENT],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{flags: '-f, --follow', help: 'go on with what is written later, until the process is over'},
		{flags: '--since <TIME>', help: 'only output of the last 10m, or since a date such as 2026-03-01T12:00:00Z'},
		{flags: '--tail <LINES>', help: 'only the last lines, so many'},
		{flags: '--grep <REGEX>', help: 'only lines that match this regular expression of JavaScript'},
		{flags: '-t, --timestamps', help: 'with the time in front of every line'},
		{
			flags: '--stream <STREAM>',
			help: 'only output of this stream: stdout, stderr or pty',
			completes: {kind: 'words', words: ['stdout', 'stderr', 'pty']},
		},
		QUIET_OPTION,
	],
	details: [
		'Bytes stay what they are, on the stream they were written to; output of a terminal goes to standard output. With --timestamps it is written line by line, and on a terminal control characters in it are written out.',
		'Output that is no longer kept is announced on stderr with its size. Unless standard output is a terminal, the exit code tells it, too.',
		'Ctrl-C ends the reading; the process does not notice.',
	],
	examples: [
		{command: 'longarm logs build'},
		{command: 'longarm logs -f --tail 20 build', says: 'the last lines, and all that follow'},
		{command: "longarm logs -e devbox --since 10m -t --grep 'error|warning' build"},
		{command: 'longarm logs --stream stderr build 2>&1 | less'},
	],
	exitCodes: [
		...COMMON_EXIT_CODES,
		[`${EXIT.notRun}`, 'output is missing that is no longer kept, and standard output is no terminal'],
		[`${EXIT.interrupted}`, 'ended by Ctrl-C'],
		[`${EXIT.brokenPipe}`, 'the reader of the output closed the pipe (SIGPIPE)'],
	],
	async run({arguments: [id], options}) {
		const {logs} = await import('./logs-command.js');
		return logs(id as string, {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			follow: options['follow'] === true,
			since: options['since'] as string | undefined,
			tail: options['tail'] as string | undefined,
			grep: options['grep'] as string | undefined,
			timestamps: options['timestamps'] === true,
			stream: options['stream'] as string | undefined,
		});
	},
};
