import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	JSON_OPTION,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const FORWARD: CommandDefinition = {
	name: 'forward',
	summary: 'make ports of another machine reachable here',
	arguments: [
		{
			name: 'LOCAL:REMOTE',
			help: '[ADDRESS:]PORT here, [HOST:]PORT as seen from there; one port alone is both, port 0 here picks a free one',
			isRepeated: true,
		},
	],
	options: [ENVIRONMENT_OPTION, ...TRUST_OPTIONS, JSON_OPTION, QUIET_OPTION],
	details: [
		'Listens on 127.0.0.1 unless an address is given. There only programs of your user, and of root, are connected (Linux), and none in a sandbox of longarm. One line on stdout tells where, for each port; then it serves until Ctrl-C. A connection that cannot be made there is told on stderr, and ends here with a reset; the others go on.',
		'When the link to the server breaks, open connections end with it; new ones work as soon as the link does.',
		'The server has to allow it: longarm serve --allow-forward loopback, or any for hosts beyond that machine.',
	],
	examples: [
		{command: 'longarm forward -e devbox 3000', says: 'the same port here and there'},
		{command: 'longarm forward -e devbox 8080:3000', says: 'localhost:3000 of devbox'},
		{command: 'longarm forward -e devbox 0:3000', says: 'on a free port, printed'},
		{command: 'longarm forward -e devbox 5432:db.internal:5432', says: 'a host only devbox can reach'},
		{command: 'longarm forward -e devbox 0.0.0.0:8080:3000', says: 'for others as well'},
		{command: 'longarm forward -e devbox 8080:3000 [::1]:9229:9229', says: 'several at once'},
	],
	exitCodes: [
		[`${EXIT.ok}`, 'ended by Ctrl-C or SIGTERM'],
		[`${EXIT.failed}`, 'the server cannot be reached, does not forward, or a port here is taken'],
		COMMON_EXIT_CODES[1],
	],
	async run({arguments: [specs], options}) {
		const {forward} = await import('./forward-command.js');
		return forward(specs as readonly string[], {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			json: options['json'] === true,
		});
	},
};
