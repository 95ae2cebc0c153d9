import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	type OptionDefinition,
	type OptionValues,
} from '../../command-definition.js';
import {EXIT} from '../../exit-codes.js';
import {REFUSED_SERVE_OPTIONS} from './refused-options.js';
import {flagOf, resolveSettings, SETTINGS, type SettingName, type Settings, variableOf} from './serve-settings.js';

const NAMES = Object.keys(SETTINGS) as SettingName[];

export const SERVE: CommandDefinition = {
	name: 'serve',
	ownsStreams: true,
	summary: 'serve this machine to clients of the exec-server protocol',
	options: [
		{flags: '--config <FILE>', help: 'settings file in TOML (or LONGARM_CONFIG)', completes: {kind: 'file'}},
		...NAMES.map(toOption),
	],
	refusedOptions: REFUSED_SERVE_OPTIONS,
	details: [
		'Every setting can also be given as an environment variable (LONGARM_RETAIN_BYTES=8MiB) or in a settings file (retain_bytes = "8MiB"); a flag wins over a variable, a variable over the file.',
		'The only line on stdout is the address; with --console a second one is that of the web console. Logs go to stderr.',
		'SIGTERM and Ctrl-C end every process and then the server; a second one does so at once. SIGHUP reads tokens and certificates again and opens the audit log again; it ends a server whose terminal was closed, or that has a terminal and nothing to reload.',
		'SIGUSR2 replaces the server by the program that is now at its path, on Linux: same pid, its processes go on, sessions are resumed. If the new program does not take over, the old one goes on and the log says why.',
	],
	examples: [
		{command: 'longarm serve', says: 'on a free loopback port'},
		{command: 'longarm serve --listen ws://127.0.0.1:4500', says: 'on this port'},
		{command: 'longarm serve --listen unix:/run/user/1000/longarm.sock', says: 'on a socket that only you can open'},
		{command: 'longarm serve --listen stdio', says: 'on stdin and stdout, e.g. behind ssh'},
		{command: 'longarm serve --retain-bytes 8MiB --log-level debug'},
		{command: 'longarm serve --console', says: 'with the web console; open the second line in a browser'},
		{
			command:
				'longarm serve --listen wss://0.0.0.0:4500 --tls-cert cert.pem --tls-key key.pem --ws-auth capability-token --ws-token-file token',
			says: 'for holders of the token, on the network',
		},
		{
			command:
				'longarm serve --listen wss://0.0.0.0:4500 --tls-self-signed --ws-auth capability-token --ws-token-file token',
			says: 'with a certificate of its own; the log has the line for the other side',
		},
		{
			command: 'CODEX_EXEC_SERVER_URL=ws://127.0.0.1:4500 codex',
			says: 'a stock codex that works on this server',
		},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const settings = await readSettings(options);
		const {serve} = await import('./serve-command.js');
		await serve(settings);
		return EXIT.ok;
	},
};

/** From the flags, variables and the settings file. */
export async function readSettings(options: OptionValues): Promise<Settings> {
	const path = (options['config'] as string | undefined) ?? process.env[variableOf('config')];
	const file = path === undefined ? undefined : (await import('./settings-file.js')).readSettingsFile(path);
	return resolveSettings({flags: readFlags(options), variables: process.env, file});
}

/** The option of a setting. */
export function toOption(name: SettingName): OptionDefinition {
	const {kind, fallback, help} = SETTINGS[name];
	const shown = (kind.format as (value: unknown) => string)(fallback);
	const words = kind.placeholder?.includes('|') ? kind.placeholder.split('|') : undefined;
	return {
		flags: flagOf(name),
		help: `${help} (default: ${shown})`,
		...(kind.isList && {isRepeated: true}),
		...(words && {completes: {kind: 'words', words}}),
		...(kind.placeholder === 'FILE' && {completes: {kind: 'file'}}),
	};
}

export function readFlags(options: OptionValues): Record<string, string | boolean | undefined> {
	return Object.fromEntries(NAMES.map(name => [name, joinValues(options[toCamelCase(name)])]));
}

/** An option that was given several times is a list. */
function joinValues(value: OptionValues[string]): string | boolean | undefined {
	return typeof value === 'object' ? value.join(',') : value;
}

function toCamelCase(name: string): string {
	return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
