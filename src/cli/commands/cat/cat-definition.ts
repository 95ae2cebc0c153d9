import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	QUIET_OPTION,
	READ_ADDRESS_HELP,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const CAT: CommandDefinition = {
	name: 'cat',
	summary: 'write files of any machine to standard output',
	arguments: [
		{
			name: 'ADDRESS',
			help: READ_ADDRESS_HELP,
			isRepeated: true,
			completes: {kind: 'address'},
		},
	],
	options: [ENVIRONMENT_OPTION, ...TRUST_OPTIONS, QUIET_OPTION],
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
		return cat(addresses as readonly string[], {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
		});
	},
};
