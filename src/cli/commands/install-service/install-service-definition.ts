import {COMMON_EXIT_CODES, type CommandDefinition} from '../../command-definition.js';

export const INSTALL_SERVICE: CommandDefinition = {
	name: 'install-service',
	summary: 'write the file by which systemd, or launchd, runs longarm serve',
	arguments: [
		{
			name: 'OPTION',
			help: 'options of longarm serve, behind -- (default: --listen on a socket that only the user can open)',
			isOptional: true,
			isRepeated: true,
		},
	],
	options: [
		{flags: '--user', help: 'for this user (default)'},
		{flags: '--system', help: 'for the machine; needs root and --run-as'},
		{flags: '--run-as <USER>', help: 'user the service of the machine runs as'},
		{flags: '--name <NAME>', help: 'name of the service (default: longarm)'},
		{flags: '--drain <TIME>', help: 'wait this long for running processes when the service is stopped (default: 0)'},
		{flags: '--print', help: 'print the file and write nothing'},
	],
	passesThrough: true,
	details: [
		'Nothing is started: the commands for that are printed. A file of that name that longarm has not written is left alone.',
		'The service of a user gets the PATH of this shell, so that commands are found there as here.',
		'Tokens belong into files (--ws-token-file), not into options, which everybody on the machine can read.',
	],
	examples: [
		{command: 'longarm install-service', says: 'for you, on a socket in the file system'},
		{command: 'longarm install-service --print'},
		{
			command:
				'longarm install-service --system --run-as exec --drain 10m -- --listen wss://0.0.0.0:4500 --tls-self-signed --ws-auth capability-token --ws-token-file /etc/longarm/token',
			says: 'for the machine, on the network',
		},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({arguments: [given], options}) {
		const {installService} = await import('./install-service-command.js');
		return installService({
			serveOptions: given as readonly string[],
			isSystem: options['system'] === true,
			isUser: options['user'] === true,
			runAs: options['runAs'] as string | undefined,
			name: (options['name'] as string | undefined) ?? 'longarm',
			drain: options['drain'] as string | undefined,
			printsOnly: options['print'] === true,
		});
	},
};
