import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	JSON_OPTION,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';

export const CONSOLE: CommandDefinition = {
	name: 'console',
	summary: 'serve the web console of one or several machines to a browser of this one',
	options: [
		{...ENVIRONMENT_OPTION, isRepeated: true, help: `${ENVIRONMENT_OPTION.help}; may be given several times`},
		...TRUST_OPTIONS,
		{flags: '--listen <ADDRESS>', help: 'loopback address and port for the browser (default: 127.0.0.1:0)'},
		JSON_OPTION,
		QUIET_OPTION,
	],
	details: [
		'Prints an address with a secret in it, which logs a browser in once and is worth nothing then; another one is printed for each line on standard input. Serves until Ctrl-C.',
		'The page shows processes, files, ports, jobs and metrics of these machines, with the rights of your tokens, which stay here. Processes are watched until somebody takes control.',
		'longarm serve --console serves the same for one machine without this command. --json prints {"url", "machines"}.',
	],
	examples: [
		{command: 'longarm console', says: 'for this machine'},
		{command: 'longarm console -e devbox -e build'},
		{command: 'longarm console -e devbox --listen 127.0.0.1:8080'},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const {serveConsole} = await import('./console-command.js');
		return serveConsole({
			environments: (options['environment'] ?? []) as readonly string[],
			quiet: options['quiet'] === true,
			listen: options['listen'] as string | undefined,
			json: options['json'] === true,
		});
	},
};
