import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	JSON_OPTION,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';

export const UPGRADE: CommandDefinition = {
	name: 'upgrade',
	summary: 'replace a running server by another version; its processes run on',
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{
			flags: '--to <PATH>',
			help: 'program to replace it by (default: the one it was started from, as it is now)',
			completes: {kind: 'file'},
		},
		JSON_OPTION,
		QUIET_OPTION,
	],
	details: [
		'The new program is asked first whether it can take over; if not, or if it cannot be started, the server goes on as before. Clients notice a lost link and carry on their sessions.',
		'Only the user the server runs as may ask for it, over a unix socket or, by SIGUSR2, without this command.',
	],
	examples: [
		{command: 'longarm upgrade', says: 'your local daemon'},
		{command: 'longarm upgrade -e unix:/run/user/1000/longarm.sock --to /opt/longarm/bin/longarm.js'},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const {upgrade} = await import('./upgrade-command.js');
		return upgrade({
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			to: options['to'] as string | undefined,
			json: options['json'] === true,
		});
	},
};
