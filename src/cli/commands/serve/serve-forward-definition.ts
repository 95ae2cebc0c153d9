import {COMMON_EXIT_CODES, type CommandDefinition} from '../../command-definition.js';
import {EXIT} from '../../exit-codes.js';
import {REFUSED_SERVE_OPTIONS} from './refused-options.js';
import {readFlags, toOption} from './serve-definition.js';
import {resolveSettings, type SettingName} from './serve-settings.js';

/** Settings of `serve` that are about hubs and logs. */
const NAMES: readonly SettingName[] = [
	'remote',
	'remote-transport',
	'environment-id',
	'name',
	'token-file',
	'registration-bearer-stdin',
	'executor-credential-stdin',
	'exit-on-stdin-close',
	'remote-ca-file',
	'remote-tls-fingerprint',
	'key-file',
	'pool',
	'label',
	'slots',
	'allow-harness-key',
	'log-level',
	'log-format',
	'strict-config',
];

export const SERVE_FORWARD: CommandDefinition = {
	name: 'serve forward',
	ownsStreams: true,
	summary: 'let hubs lead to another server of the protocol',
	options: [
		{
			flags: '--connect <URL>',
			help: 'the server: a ws:// or wss:// URL or unix:PATH; each client gets a connection of its own',
		},
		...NAMES.map(toOption),
	],
	refusedOptions: REFUSED_SERVE_OPTIONS,
	details: [
		'The token for that server is that of LONGARM_EXEC_SERVER_TOKEN. Sessions are those of that server, so clients resume them after a lost connection.',
	],
	examples: [
		{
			command:
				'longarm serve forward --connect ws://127.0.0.1:4500 --remote https://hub.example --environment-id devbox --token-file hub.token',
		},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const settings = resolveSettings({flags: readFlags(options), variables: process.env, file: undefined});
		const {forwardServer} = await import('./serve-forward.js');
		await forwardServer(settings, options['connect'] as string | undefined);
		return EXIT.ok;
	},
};
