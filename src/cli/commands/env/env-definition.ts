import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	type GroupDefinition,
	JSON_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT, usageError} from '../../exit-codes.js';

const WHERE_THEY_ARE =
	'Environments stand in environments.toml in LONGARM_HOME, or in ~/.longarm. Without that file LONGARM_EXEC_SERVER_URL names one, `remote`.';
const WHICH_IS_THE_DEFAULT =
	'Commands without -e use the default: the first of LONGARM_ENVIRONMENT (a name, an address or local), LONGARM_EXEC_SERVER_URL, the default in environments.toml, and this machine. On a terminal a line on stderr tells which, unless it is this machine.';

export const ENV: GroupDefinition = {name: 'env', summary: 'add, remove, list and test environments'};

export const ENV_LIST: CommandDefinition = {
	name: 'env list',
	summary: 'list the environments that are known by name',
	options: [
		{
			flags: '--hub <URL>',
			help: 'list the environments of this hub instead: an http:// or https:// URL, or the name of an environment behind it',
		},
		{
			flags: '--select <SELECTOR>',
			help: 'with --hub: only those of a pool or with labels: pool:NAME, @KEY=VALUE+KEY=VALUE, pool:NAME+KEY=VALUE',
		},
		{
			flags: '--token-file <FILE>',
			help: 'with --hub: take the token from this file; - is stdin (default: LONGARM_EXEC_SERVER_TOKEN)',
			completes: {kind: 'file'},
		},
		...TRUST_OPTIONS,
		JSON_OPTION,
	],
	details: [
		WHERE_THEY_ARE,
		WHICH_IS_THE_DEFAULT,
		'The default one has a star, and what makes it that behind it. Labels are in brackets. Tokens are never shown.',
		'A hub tells those that the token is good for: whether they are online or draining, the key by which clients know them, how many clients use them, and, of those that told it, their slots, pools and labels.',
	],
	examples: [
		{command: 'longarm env list'},
		{command: "longarm env list --json | jq -r '.[].name'"},
		{command: 'longarm env list --hub https://hub.example --token-file hub.token'},
		{command: 'longarm env list --hub devbox --select pool:gpu', says: 'at the hub of devbox, with its token'},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const json = options['json'] === true;
		const [hub, tokenFile, selector] = [options['hub'], options['tokenFile'], options['select']] as (
			| string
			| undefined
		)[];
		if (hub !== undefined) {
			const {listEnvironmentsOfHub} = await import('./env-list-hub.js');
			return listEnvironmentsOfHub({hub, tokenFile, selector, json});
		}
		const {listEnvironments} = await import('./env-list.js');
		if (selector !== undefined) throw usageError('--select goes with --hub');
		if (tokenFile !== undefined) throw usageError('--token-file goes with --hub');
		return listEnvironments({json});
	},
};

export const ENV_ADD: CommandDefinition = {
	name: 'env add',
	summary: 'give a machine a name',
	arguments: [
		{name: 'NAME', help: 'ASCII letters, digits, - and _'},
		{
			name: 'WHERE',
			help: 'a ws:// or wss:// URL, registry+https://HUB/ID, unix:PATH, cmd:COMMAND for the shell, or a program and its arguments behind --',
			isRepeated: true,
			completes: {kind: 'command'},
		},
	],
	options: [
		{
			flags: '--token-file <FILE>',
			help: 'take the token for a URL from this file; - is stdin',
			completes: {kind: 'file'},
		},
		...TRUST_OPTIONS,
		{
			flags: '--executor-key <KEY>',
			help: 'for registry+https://: accept the executor with this key (sha256:HEX), and no other; any takes whatever key the hub names (default: the key of the first connection is remembered)',
		},
		{
			flags: '--cwd <DIR>',
			help: 'start the program in this directory',
			completes: {kind: 'directory'},
		},
		{
			flags: '--label <KEY=VALUE>',
			help: 'a label by which several environments are selected, as @KEY=VALUE; may be given several times',
			isRepeated: true,
		},
		{flags: '--default', help: 'make it the one that commands without -e use, and the default of programs'},
	],
	details: [
		'The program, or the command, has to speak the protocol on its stdin and stdout, as longarm serve --listen stdio does.',
		'A token is copied into environments.toml, which only its owner can read. It cannot be given on the command line, where others could see it.',
		'Comments and layout of environments.toml stay as they are. Nothing is connected to; longarm env test does that.',
		WHICH_IS_THE_DEFAULT,
	],
	examples: [
		{command: 'longarm env add devbox ws://127.0.0.1:4500'},
		{command: 'longarm env add here unix:/run/user/1000/longarm.sock', says: 'on a socket in the file system'},
		{command: 'longarm env add far wss://far.example:8443/ --token-file ~/far.token'},
		{
			command: 'longarm env add lab wss://lab.example:4500 --token-file lab.token --tls-fingerprint sha256:HEX',
			says: 'with the fingerprint that longarm serve --tls-self-signed prints',
		},
		{
			command: 'longarm env add devbox registry+https://hub.example/devbox --token-file hub.token',
			says: 'a machine behind a hub',
		},
		{
			command: 'longarm env add web1 wss://web1.example:8443 --label role=web --label os=linux',
			says: 'longarm each -e @role=web is for all of them',
		},
		{command: "longarm env add box 'cmd:ssh box longarm serve --listen stdio'", says: 'for the shell'},
		{command: 'longarm env add box -- ssh box longarm serve --listen stdio', says: 'without a shell'},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({arguments: [name, where], options}) {
		const {addEnvironmentCommand} = await import('./env-edit.js');
		return addEnvironmentCommand({
			name: name as string,
			where: where as readonly string[],
			isProgram: process.argv.includes('--'),
			tokenFile: options['tokenFile'] as string | undefined,
			executorKey: options['executorKey'] as string | undefined,
			cwd: options['cwd'] as string | undefined,
			isDefault: options['default'] === true,
			labels: (options['label'] ?? []) as readonly string[],
		});
	},
};

export const ENV_REMOVE: CommandDefinition = {
	name: 'env remove',
	summary: 'forget a name',
	arguments: [{name: 'NAME', help: 'a name from environments.toml', completes: {kind: 'environment'}}],
	details: ['Its table is cut out of environments.toml with the comments right above it; the rest stays as it is.'],
	examples: [{command: 'longarm env remove devbox'}],
	exitCodes: COMMON_EXIT_CODES,
	async run({arguments: [name]}) {
		const {removeEnvironmentCommand} = await import('./env-edit.js');
		return removeEnvironmentCommand(name as string);
	},
};

export const ENV_TEST: CommandDefinition = {
	name: 'env test',
	summary: 'connect to environments and say who answers',
	arguments: [
		{
			name: 'ENV',
			help: 'names, URLs or cmd:COMMAND (default: all that are known by name)',
			isOptional: true,
			isRepeated: true,
			completes: {kind: 'environment'},
		},
	],
	options: [...TRUST_OPTIONS, JSON_OPTION],
	details: [
		'All are tried at once, each for 15 seconds at most. A line says which server answers, on what system, how long a request takes there and back, and below it what that server cannot do.',
	],
	examples: [
		{command: 'longarm env test'},
		{command: 'longarm env test devbox', says: 'only this one'},
		{command: 'longarm env test ws://127.0.0.1:4500 --json'},
	],
	exitCodes: [[`${EXIT.failed}`, 'at least one cannot be reached; its line says why'], COMMON_EXIT_CODES[1]],
	async run({arguments: [names], options}) {
		const {testEnvironments} = await import('./env-test.js');
		return testEnvironments(names as readonly string[], {json: options['json'] === true});
	},
};
