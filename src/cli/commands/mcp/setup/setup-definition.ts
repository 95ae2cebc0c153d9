import {type CommandDefinition, JSON_OPTION} from '../../../command-definition.js';
import {EXIT} from '../../../exit-codes.js';

/** Names for completion, without the code behind them. */
const CLIENT_NAMES = ['claude-code', 'claude-desktop', 'codex', 'cursor', 'gemini', 'vscode', 'opencode', 'copilot'];

export const MCP_SETUP: CommandDefinition = {
	name: 'mcp setup',
	summary: 'write longarm mcp into the configuration of MCP clients',
	arguments: [
		{
			name: 'OPTIONS',
			help: 'options of longarm mcp that go into the configuration, behind --',
			isOptional: true,
			isRepeated: true,
		},
	],
	options: [
		{
			flags: '--client <NAME>',
			help: `only this one, installed or not: ${CLIENT_NAMES.join(', ')}; may be given several times (default: all that are found)`,
			isRepeated: true,
			completes: {kind: 'words', words: CLIENT_NAMES},
		},
		{flags: '--dry-run', help: 'show what would be written, and write nothing'},
		{flags: '--uninstall', help: 'take longarm out of the configurations again'},
		JSON_OPTION,
	],
	details: [
		'Each file is named with what is written into it, and then written. Nothing else in it changes: comments, layout, order and mode stay as they are, and a link stays a link. A file that cannot be parsed is left alone, and the exit code tells. A second run changes nothing.',
		'--uninstall brings every file back byte for byte, one that was made by setup is removed. If a client has rewritten its file since, only the entry of longarm is taken out of it. What was changed is kept in mcp-setup.json in LONGARM_HOME, or in ~/.longarm.',
		'An entry that is called longarm already is updated; members that you have added to it stay. Clients read their configuration when they start.',
	],
	examples: [
		{command: 'longarm mcp setup --dry-run', says: 'what would be written where'},
		{command: 'longarm mcp setup', says: 'for all clients that are installed'},
		{command: 'longarm mcp setup --client codex --client cursor'},
		{command: 'longarm mcp setup -- --all', says: 'with all machines of environments.toml'},
		{command: 'longarm mcp setup --uninstall'},
	],
	exitCodes: [
		[`${EXIT.failed}`, 'at least one file could not be changed; stderr says why, the others were'],
		[`${EXIT.misused}`, 'the command line is wrong, or no client is found; nothing was done'],
	],
	async run({arguments: [args], options}) {
		const {setUpClients} = await import('./setup-command.js');
		return setUpClients({
			clients: (options['client'] ?? []) as readonly string[],
			args: (args ?? []) as readonly string[],
			dryRun: options['dryRun'] === true,
			uninstall: options['uninstall'] === true,
			json: options['json'] === true,
		});
	},
};
