import {
	type CommandDefinition,
	POOL_ENVIRONMENT_OPTION,
	POOL_WAIT_OPTION,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT, PASSED_THROUGH_FAILURE_CODES} from '../../exit-codes.js';
import {CWD_OPTION, SANDBOX_DETAILS, SANDBOX_OPTIONS, toSandboxRequest, VARIABLE_OPTION} from './run-definition.js';

export const SHELL: CommandDefinition = {
	name: 'shell',
	ownsStreams: true,
	summary: 'a shell there on this terminal',
	arguments: [
		{
			name: 'COMMAND',
			help: 'instead of the login shell',
			isOptional: true,
			isRepeated: true,
			completes: {kind: 'command'},
		},
	],
	options: [
		POOL_ENVIRONMENT_OPTION,
		POOL_WAIT_OPTION,
		...TRUST_OPTIONS,
		{
			flags: '--name <NAME>',
			help: 'a shell that stays when you leave: attach to the one of this name, or start it',
		},
		CWD_OPTION,
		VARIABLE_OPTION,
		...SANDBOX_OPTIONS,
		QUIET_OPTION,
	],
	passesThrough: true,
	details: [
		'Every key goes there, Ctrl-C included. The kind of the terminal (TERM) and its size are passed on, and the size follows that of the window.',
		'A lost connection is retried for as long as the terminal is open; a line shows for how long there has been none, and Ctrl-C or ~. gives up then. The shell and its programs run on meanwhile, for 24 hours without a client; when you give up, the command that leads back to it is printed. A program that writes more than the server keeps waits for you. A stock server ends the shell with its session, some 30 to 80 seconds after the link was lost.',
		'Typing ~. at the beginning of a line (Enter, ~, .) leaves and ends the shell; so does closing the terminal. ~~ is one tilde. The terminal is put back as it was in any case.',
		'With --name nothing but its own exit, longarm stop or the end of its server ends the shell. ~. and ~d leave it running, the same command attaches to it again, from any machine, and takes it over from a terminal that is still attached. Its output goes to disk, so that programs never wait for you. See longarm attach for the other keys. A pool cannot be given: name the machine.',
		SANDBOX_DETAILS,
	],
	examples: [
		{command: 'longarm shell -e devbox'},
		{command: 'longarm shell -e devbox --name work', says: 'start it, or come back to it'},
		{command: 'longarm shell -e devbox --cwd /srv/app -- vim README.md'},
		{command: 'longarm shell -e "cmd:docker exec -i web longarm serve --listen stdio"', says: 'in a container'},
	],
	exitCodes: [
		['N', 'the shell exited with N; 128+n if signal n ended it'],
		['0', 'with --name: you left, and the shell runs on'],
		[`${EXIT.notRun}`, 'longarm itself failed: no terminal, unreachable, link lost, left with ~.'],
		[`${EXIT.notExecutable}`, 'the command is not executable'],
		[`${EXIT.notFound}`, 'the command was not found'],
	],
	failureCodes: PASSED_THROUGH_FAILURE_CODES,
	async run({arguments: [argv], options}) {
		const {runShell} = await import('./run-command.js');
		return runShell({
			environment: options['environment'] as string | undefined,
			wait: options['wait'],
			quiet: options['quiet'] === true,
			argv: argv as readonly string[],
			cwd: options['cwd'] as string | undefined,
			variables: (options['env'] ?? []) as readonly string[],
			sandbox: toSandboxRequest(options),
			name: options['name'] as string | undefined,
		});
	},
};
