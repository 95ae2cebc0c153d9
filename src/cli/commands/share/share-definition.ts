import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	JSON_OPTION,
	PROCESS_ARGUMENT,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';

export const SHARE: CommandDefinition = {
	name: 'share',
	summary: 'print a link with which somebody else may watch a process, or drive it',
	arguments: [PROCESS_ARGUMENT],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{flags: '--drive', help: 'the holder may write to it, too, and not only watch'},
		{flags: '--list', help: 'list the links of the process that are good now, by their ids, instead of making one'},
		{flags: '--revoke <LINK_ID>', help: 'revoke a link of the process and end its connections; all: every link'},
		{flags: '--for <TIME>', help: 'time until the link is worth nothing (default: 1h)'},
		JSON_OPTION,
		QUIET_OPTION,
	],
	details: [
		'The link is a secret: it is good for this one process and role, for everybody who has it. longarm attach takes it, and so do logs, screen, wait, replay and export. Links end with the server, and with the token of the one who made them: when it expires, or is no longer in the tokens file.',
		'Only the owner of a process may share it, on a server that lets in holders of tokens only (--ws-auth).',
		'On a server with the web console (serve --console) stderr has the same link for a browser.',
		'--json prints {"link", "url", "token", "id", "role", "expiresAt"}, and "consoleLink" where there is a web console. With --list it prints an array of {"id", "role", "expiresAt"}.',
	],
	examples: [
		{command: 'longarm share -e devbox build'},
		{command: 'longarm share -e devbox deploy --drive --for 15m', says: 'for the one who knows the password'},
		{command: 'longarm share -e devbox deploy --list'},
		{command: 'longarm share -e devbox deploy --revoke all'},
		{command: "longarm attach 'wss://devbox:4500#share=TOKEN&process=build'", says: 'in quotes: & ends a command'},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({arguments: [id], options}) {
		const {share} = await import('./share-command.js');
		return share(id as string, {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			drive: options['drive'] === true,
			time: options['for'] as string | undefined,
			json: options['json'] === true,
			list: options['list'] === true,
			revoke: options['revoke'] as string | undefined,
		});
	},
};
