import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	JSON_OPTION,
	QUIET_OPTION,
	READ_ADDRESS_HELP,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const LS: CommandDefinition = {
	name: 'ls',
	summary: 'list files and directories of any machine',
	arguments: [
		{
			name: 'ADDRESS',
			help: READ_ADDRESS_HELP,
			isOptional: true,
			isRepeated: true,
			completes: {kind: 'address'},
		},
	],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{flags: '-l, --long', help: 'with kind, mode, size and time of change'},
		{flags: '-a, --all', help: 'with names that begin with a dot'},
		JSON_OPTION,
		QUIET_OPTION,
	],
	details: [
		'On a terminal directories end with a slash, and control characters in names are written out; in a pipe names are the bytes they are.',
	],
	examples: [
		{command: 'longarm ls build:src'},
		{command: "longarm ls 'build:/var/log/*.log'", says: 'in quotes, or this shell expands it'},
		{command: 'longarm ls -l ws://127.0.0.1:4500:/srv'},
		{command: "longarm ls -e 'cmd:ssh host longarm serve --listen stdio' -a :."},
	],
	exitCodes: [
		[`${EXIT.failed}`, 'something could not be listed; stderr says what, the rest is listed'],
		COMMON_EXIT_CODES[1],
	],
	async run({arguments: [addresses], options}) {
		const {ls} = await import('./ls-command.js');
		const given = addresses as readonly string[];
		return ls(given.length === 0 ? ['.'] : given, {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			long: options['long'] === true,
			all: options['all'] === true,
			json: options['json'] === true,
		});
	},
};
