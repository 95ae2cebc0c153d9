import {Command, CommanderError} from 'commander';
import {VERSION} from '../server/version.js';
import {LongarmError} from '../shared/errors.js';
import {flagOf, resolveSettings, SETTINGS, type SettingName, variableOf} from './settings.js';

/** Exit codes: 0 success, 1 something failed, 2 the command line or a setting is wrong. */
const FAILED = 1;
const MISUSED = 2;

const SERVE_EXAMPLES = `
Every setting can also be given as an environment variable (LONGARM_RETAIN_BYTES=8MiB)
or in a settings file (retain_bytes = "8MiB"); a flag wins over a variable, a variable over the file.

The only line on stdout is the address. Logs go to stderr.
SIGTERM and Ctrl-C end every process and then the server; a second one does so at once.
SIGHUP does the same, but with tokens or a certificate it reads their files again.

Examples:
  longarm serve                                        on a free loopback port
  longarm serve --listen ws://127.0.0.1:4500           on this port
  longarm serve --listen stdio                         on stdin and stdout, e.g. behind ssh
  longarm serve --retain-bytes 8MiB --log-level debug
  longarm serve --listen wss://0.0.0.0:4500 --tls-cert cert.pem --tls-key key.pem \\
    --ws-auth capability-token --ws-token-file token   for holders of the token, on the network
  CODEX_EXEC_SERVER_URL=ws://127.0.0.1:4500 codex      a stock codex that works on this server`;

const DOCTOR_EXAMPLES = `
Exits with 1 when something does not work at all; what is only limited does not count.

Examples:
  longarm doctor
  longarm doctor --json | jq '.[] | select(.status != "ok")'`;

void main();

async function main(): Promise<void> {
	try {
		await createProgram().parseAsync();
		process.exit(0);
	} catch (error) {
		process.exit(report(error));
	}
}

function createProgram(): Command {
	const program = new Command('longarm')
		.description('Processes, files and HTTP of another machine as if they were local.')
		.version(VERSION, '-V, --version', 'print the version')
		.helpOption('-h, --help', 'show this help')
		.exitOverride()
		.configureOutput({writeErr: () => {}})
		.showHelpAfterError(false);
	addServe(program);
	addDoctor(program);
	return program;
}

function addServe(program: Command): void {
	const serve = program
		.command('serve')
		.description('serve this machine to clients of the exec-server protocol')
		.option('--config <FILE>', 'settings file in TOML (or LONGARM_CONFIG)')
		.addHelpText('after', SERVE_EXAMPLES);
	for (const name of Object.keys(SETTINGS) as SettingName[]) {
		const {kind, fallback, help} = SETTINGS[name];
		const shown = (kind.format as (value: unknown) => string)(fallback);
		serve.option(flagOf(name), `${help} (default: ${shown})`);
	}
	serve.action(async (_options: unknown, command: Command) => {
		const options = command.opts<Record<string, string | boolean | undefined>>();
		const flags = Object.fromEntries(
			(Object.keys(SETTINGS) as SettingName[]).map(name => [name, options[camelCase(name)]]),
		);
		const file = (options['config'] as string | undefined) ?? process.env[variableOf('config')];
		const settings = resolveSettings({flags, variables: process.env, file});
		const {serve: run} = await import('./commands/serve.js');
		await run(settings);
	});
}

function addDoctor(program: Command): void {
	program
		.command('doctor')
		.description('say what a server on this machine can do, and how to mend what it cannot')
		.option('--json', 'print the findings as JSON')
		.addHelpText('after', DOCTOR_EXAMPLES)
		.action(async ({json = false}: {json?: boolean}) => {
			const {doctor} = await import('./commands/doctor.js');
			process.exit(await doctor({json}));
		});
}

function camelCase(name: string): string {
	return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** One line about what went wrong, one about what helps; the exit code. */
function report(error: unknown): number {
	if (error instanceof CommanderError) {
		if (error.exitCode === 0) return 0;
		const text = error.message === '(outputHelp)' ? 'error: no command given' : error.message;
		process.stderr.write(`${text.replaceAll('\n', ' ')}; see longarm --help\n`);
		return MISUSED;
	}
	if (error instanceof LongarmError) {
		process.stderr.write(`error: ${error.message}\nhint: ${error.hint}\n`);
		return error.code === 'SETTING_INVALID' || error.code === 'LISTEN_REFUSED' ? MISUSED : FAILED;
	}
	process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
	return FAILED;
}
