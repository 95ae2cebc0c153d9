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
		CWD_OPTION,
		VARIABLE_OPTION,
		...SANDBOX_OPTIONS,
		QUIET_OPTION,
	],
	passesThrough: true,
	details: [
		'Every key goes there, Ctrl-C included. The kind of the terminal (TERM) and its size are passed on, and the size follows that of the window.',
		'A lost connection is reported and retried for 45 seconds, while the shell and its programs keep running.',
		'Typing ~. at the beginning of a line (Enter, ~, .) leaves, whatever the link does; ~~ is one tilde. The terminal is put back as it was in any case.',
		SANDBOX_DETAILS,
	],
	examples: [
		{command: 'longarm shell -e devbox'},
		{command: 'longarm shell -e devbox --cwd /srv/app -- vim README.md'},
		{command: 'longarm shell -e "cmd:docker exec -i web longarm serve --listen stdio"', says: 'in a container'},
	],
	exitCodes: [
		['N', 'the shell exited with N; 128+n if signal n ended it'],
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
		});
	},
};
