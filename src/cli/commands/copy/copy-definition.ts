import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	type OptionDefinition,
	type OptionValues,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import type {CopyCommandOptions} from './copy-command.js';

const OPTIONS: readonly OptionDefinition[] = [
	ENVIRONMENT_OPTION,
	...TRUST_OPTIONS,
	{flags: '-r, --recursive', help: 'copy directories with everything in them'},
	{flags: '-n, --no-clobber', help: 'leave files that are there as they are'},
	{flags: '--no-sync', help: 'do not wait until the target has it on its disk'},
	{flags: '-q, --quiet', help: 'only errors'},
	{flags: '--no-progress', help: 'no progress on a terminal'},
	{flags: '--json', help: 'print a summary as JSON'},
];

const EXIT_CODES: CommandDefinition['exitCodes'] = [
	['1', 'something could not be copied; stderr has a line for each, everything else was copied'],
	COMMON_EXIT_CODES[1],
	['130', 'interrupted; the same command goes on where it stopped'],
];

const DETAILS = [
	'A path without an environment is one of this machine, whatever the default is, except those of put and get that are there; an environment is named with a colon. Of other machines a source may be a pattern with * ? [], in quotes.',
	'What is copied into a directory keeps its name. Files are replaced, in one step each. Modes, times of change and links within directories are kept; a file that is there with the same size and time is skipped.',
	'Done means on the disk of the target: it survives a power cut, unless --no-sync is given or the server cannot tell.',
	'What arrived is compared by checksum. After an interruption the same command goes on where it stopped: a large file is kept beside its place as NAME.longarm-part until it is whole, and a directory that was copied to a new name is gone on with under that name. A connection that is lost and returns is gone on with. See docs/copy.md.',
];

export const CP: CommandDefinition = {
	name: 'cp',
	summary: 'copy files between this machine and environments, or between two environments',
	arguments: [
		{
			name: 'ADDRESS',
			help: 'sources and then the target: ENV:PATH, ws://HOST:PORT:PATH, unix:SOCKET:PATH, :PATH for the environment of -e or the default one, or a path of this machine',
			isRepeated: true,
			completes: {kind: 'address'},
		},
	],
	options: OPTIONS,
	details: DETAILS,
	examples: [
		{command: 'longarm cp -r site build:/srv'},
		{command: 'longarm cp build:dist/app.tar.gz ws://10.0.0.7:4500:/opt/', says: 'from one environment to another'},
		{command: "longarm cp 'build:/var/log/*.log' logs/", says: 'in quotes, or this shell expands it'},
		{command: "longarm cp -e 'cmd:ssh host longarm serve --listen stdio' :core.1234 ."},
	],
	exitCodes: EXIT_CODES,
	async run({arguments: [paths], options}) {
		const {cp} = await import('./copy-command.js');
		return cp(paths as readonly string[], toCopyOptions(options));
	},
};

export const PUT: CommandDefinition = {
	name: 'put',
	summary: 'copy files of this machine to an environment',
	arguments: [
		{
			name: 'PATH',
			help: 'sources here, and if there are several paths the target there as the last: ENV:PATH, or PATH for the environment of -e or the default one',
			isRepeated: true,
			completes: {kind: 'address'},
		},
	],
	options: OPTIONS,
	details: ['With one path it goes to the directory the environment works in.', ...DETAILS],
	examples: [{command: 'longarm put -e build -r site'}, {command: 'longarm put a.txt b.txt build:/srv/site/'}],
	exitCodes: EXIT_CODES,
	async run({arguments: [paths], options}) {
		const {put} = await import('./copy-command.js');
		return put(paths as readonly string[], toCopyOptions(options));
	},
};

export const GET: CommandDefinition = {
	name: 'get',
	summary: 'copy files of an environment to this machine',
	arguments: [
		{
			name: 'PATH',
			help: 'sources there: ENV:PATH, or PATH for the environment of -e or the default one; and if there are several paths the target here as the last',
			isRepeated: true,
			completes: {kind: 'address'},
		},
	],
	options: OPTIONS,
	details: ['With one path it comes to the directory you are in.', ...DETAILS],
	examples: [{command: 'longarm get -e build dist/app.tar.gz'}, {command: 'longarm get -r build:/var/log/app logs'}],
	exitCodes: EXIT_CODES,
	async run({arguments: [paths], options}) {
		const {get} = await import('./copy-command.js');
		return get(paths as readonly string[], toCopyOptions(options));
	},
};

/** A `--no-…` flag is false when given, and true or undefined otherwise. */
function toCopyOptions(options: OptionValues): CopyCommandOptions {
	return {
		environment: options['environment'] as string | undefined,
		recursive: options['recursive'] === true,
		noClobber: options['clobber'] === false,
		json: options['json'] === true,
		quiet: options['quiet'] === true,
		progress: options['progress'] !== false,
		sync: options['sync'] !== false,
	};
}
