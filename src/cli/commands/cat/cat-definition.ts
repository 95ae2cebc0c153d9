import {COMMON_EXIT_CODES, type CommandDefinition, ENVIRONMENT_OPTION} from '../../command-definition.js';
import {EXIT} from '../../exit-codes.js';

export const CAT: CommandDefinition = {
	name: 'cat',
	summary: 'write files of any machine to standard output',
	arguments: [
		{
			name: 'ADDRESS',
			help: 'ENV:PATH, ws://HOST:PORT:PATH, unix:SOCKET:PATH, :PATH with -e, or a path of this machine',
			isRepeated: true,
			completes: {kind: 'address'},
		},
	],
	options: [ENVIRONMENT_OPTION],
	details: ['Bytes stay what they are, whatever the size. After a lost connection reading goes on where it stopped.'],
	examples: [
		{command: 'longarm cat build:Makefile'},
		{command: 'longarm cat ws://127.0.0.1:4500:/var/log/syslog | grep error'},
	],
	exitCodes: [
		[`${EXIT.failed}`, 'something could not be read to its end; stderr says what'],
		COMMON_EXIT_CODES[1],
		[`${EXIT.brokenPipe}`, 'the reader of the output closed the pipe (SIGPIPE)'],
	],
	async run({arguments: [addresses], options}) {
		const {cat} = await import('./cat-command.js');
		return cat(addresses as readonly string[], options['environment'] as string | undefined);
	},
};
