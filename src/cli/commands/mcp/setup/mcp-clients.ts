import {join} from 'node:path';
import type {JsonOptions} from './json-nodes.js';

/** Name of our entry in the configuration of every client. */
export const ENTRY_NAME = 'longarm';

/** Where this user's programs keep their settings. */
export interface UserPlace {
	readonly home: string;
	readonly platform: NodeJS.Platform;
	readonly variables: Readonly<Record<string, string | undefined>>;
}

/** Command line that starts the server. */
export interface ServerCommand {
	readonly command: string;
	readonly args: readonly string[];
}

/** Program that uses MCP servers, and where its configuration has them. */
export interface McpClient {
	/** As it is given to --client. */
	readonly name: string;
	readonly title: string;
	/** Whether it is started from a shell, and so has its PATH. */
	readonly isFromShell: boolean;
	/** Directory that is there when the client is installed. */
	readonly directory: (place: UserPlace) => string;
	/** Paths of its configuration: the first that exists counts, else the first. */
	readonly files: (place: UserPlace) => readonly [string, ...string[]];
	readonly format: ({readonly kind: 'json'} & JsonOptions) | {readonly kind: 'toml'};
	/** Names of the objects that lead to all servers, from the outermost on. */
	readonly section: readonly [string, ...string[]];
	/** The entry of a server. */
	readonly entry: (server: ServerCommand) => Record<string, unknown>;
	/** Form of newer versions, for files that have an object in its section. */
	readonly newer?: Pick<McpClient, 'section' | 'entry'>;
}

const STRICT = {kind: 'json', hasComments: false} as const;
const WITH_COMMENTS = {kind: 'json', hasComments: true} as const;
const plainEntry = ({command, args}: ServerCommand): Record<string, unknown> => ({command, args});

/** Every client whose configuration is known, in the order in which they are listed. */
export const MCP_CLIENTS: readonly McpClient[] = [
	{
		name: 'claude-code',
		title: 'Claude Code',
		isFromShell: true,
		directory: ({home, variables}) => variables['CLAUDE_CONFIG_DIR'] || join(home, '.claude'),
		files: ({home, variables}) => [join(variables['CLAUDE_CONFIG_DIR'] || home, '.claude.json')],
		format: STRICT,
		section: ['mcpServers'],
		entry: server => ({type: 'stdio', ...plainEntry(server)}),
	},
	{
		name: 'claude-desktop',
		title: 'Claude Desktop',
		isFromShell: false,
		directory: place => join(applicationHome(place), 'Claude'),
		files: place => [join(applicationHome(place), 'Claude', 'claude_desktop_config.json')],
		format: STRICT,
		section: ['mcpServers'],
		entry: plainEntry,
	},
	{
		name: 'codex',
		title: 'Codex',
		isFromShell: true,
		directory: codexHome,
		files: place => [join(codexHome(place), 'config.toml')],
		format: {kind: 'toml'},
		section: ['mcp_servers'],
		entry: plainEntry,
	},
	{
		name: 'cursor',
		title: 'Cursor',
		isFromShell: false,
		directory: ({home}) => join(home, '.cursor'),
		files: ({home}) => [join(home, '.cursor', 'mcp.json')],
		format: WITH_COMMENTS,
		section: ['mcpServers'],
		entry: plainEntry,
	},
	{
		name: 'gemini',
		title: 'Gemini CLI',
		isFromShell: true,
		directory: ({home}) => join(home, '.gemini'),
		files: ({home}) => [join(home, '.gemini', 'settings.json')],
		format: WITH_COMMENTS,
		section: ['mcpServers'],
		entry: plainEntry,
	},
	{
		name: 'vscode',
		title: 'VS Code',
		isFromShell: false,
		directory: place => join(applicationHome(place), 'Code', 'User'),
		files: place => [join(applicationHome(place), 'Code', 'User', 'mcp.json')],
		format: WITH_COMMENTS,
		section: ['servers'],
		entry: server => ({type: 'stdio', ...plainEntry(server)}),
	},
	{
		name: 'opencode',
		title: 'opencode',
		isFromShell: true,
		directory: place => join(configHome(place), 'opencode'),
		files: place => [
			join(configHome(place), 'opencode', 'opencode.json'),
			join(configHome(place), 'opencode', 'opencode.jsonc'),
		],
		format: WITH_COMMENTS,
		section: ['mcp'],
		entry: server => ({...openCodeEntry(server), enabled: true}),
		newer: {section: ['mcp', 'servers'], entry: openCodeEntry},
	},
	{
		name: 'copilot',
		title: 'Copilot CLI',
		isFromShell: true,
		directory: copilotHome,
		files: place => [join(copilotHome(place), 'mcp-config.json')],
		format: STRICT,
		section: ['mcpServers'],
		entry: server => ({type: 'local', ...plainEntry(server), tools: ['*']}),
	},
];

function openCodeEntry({command, args}: ServerCommand): Record<string, unknown> {
	return {type: 'local', command: [command, ...args]};
}

function codexHome({home, variables}: UserPlace): string {
	return variables['CODEX_HOME'] || join(home, '.codex');
}

function copilotHome({home, variables}: UserPlace): string {
	return variables['COPILOT_HOME'] || join(home, '.copilot');
}

function configHome({home, variables}: UserPlace): string {
	return variables['XDG_CONFIG_HOME'] || join(home, '.config');
}

/** Directory in which desktop programs have directories of their own. */
function applicationHome(place: UserPlace): string {
	const {home, platform, variables} = place;
	if (platform === 'darwin') return join(home, 'Library', 'Application Support');
	if (platform === 'win32') return variables['APPDATA'] || join(home, 'AppData', 'Roaming');
	return configHome(place);
}
