import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	QUIET_OPTION,
	SHARED_PROCESS_ARGUMENT,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const EXPORT: CommandDefinition = {
	name: 'export',
	summary: 'write the recording of a process as an asciicast file',
	arguments: [SHARED_PROCESS_ARGUMENT],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{
			flags: '-o, --output <FILE>',
			help: 'file of this machine (default: standard output, if that is no terminal)',
			completes: {kind: 'file'},
		},
		QUIET_OPTION,
	],
	details: [
		'Everything that is kept of its output up to now, in the format that asciinema and longarm replay play (asciicast v3). Output of pipes has times, too. The format holds text only: a note tells how many bytes were none.',
		'The file is put in place when it is complete.',
	],
	examples: [
		{command: 'longarm export build -o build.cast'},
		{command: 'longarm export -e devbox build | gzip > b.gz'},
	],
	exitCodes: [
		...COMMON_EXIT_CODES,
		[`${EXIT.notRun}`, 'output is missing in the file that is no longer kept'],
		[`${EXIT.interrupted}`, 'ended by Ctrl-C; there is no file'],
		[`${EXIT.brokenPipe}`, 'the reader of the output closed the pipe (SIGPIPE)'],
	],
	async run({arguments: [id], options}) {
		const {exportRecording} = await import('./export-command.js');
		return exportRecording(id as string, {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			output: options['output'] as string | undefined,
		});
	},
};
