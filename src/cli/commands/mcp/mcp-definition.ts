import {COMMON_EXIT_CODES, type CommandDefinition, ENVIRONMENT_OPTION} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const MCP: CommandDefinition = {
	name: 'mcp',
	summary: 'give MCP clients processes, terminals, files and ports of any machine',
	ownsStreams: true,
	options: [
		{
			...ENVIRONMENT_OPTION,
			isRepeated: true,
			help: 'name or address of a machine, or several: a,b,@KEY=VALUE; may be given several times, the first is the default',
		},
		{flags: '--all', help: 'all machines of environments.toml, the default one first'},
		...TRUST_OPTIONS,
		{flags: '--http <ADDRESS:PORT>', help: 'serve streamable HTTP at /mcp instead of standard input and output'},
		{
			flags: '--token-file <FILE>',
			help: 'with --http: clients have to send the token in this file',
			completes: {kind: 'file'},
		},
		{
			flags: '--allow-origin <ORIGIN>',
			help: 'with --http: lets web pages of this origin in; may be given several times',
			isRepeated: true,
		},
		{
			flags: '--tools <GROUPS>',
			help: 'groups of tools, with commas: exec, files, ports, jobs; exec,files,ports by default',
		},
		{flags: '--read-only', help: 'only tools that change nothing: wait, screen, logs, ps, read, find'},
		{
			flags: '--root <DIR>',
			help: 'limit files and commands to this directory of each machine, relative to its own; commands run in a sandbox',
			completes: {kind: 'directory'},
		},
		{
			flags: '--sandbox <POLICY>',
			help: 'restrict files and network of everything: read-only, workspace-write, or a JSON file with a policy',
			completes: {kind: 'words', words: ['read-only', 'workspace-write']},
		},
		{flags: '--network', help: 'with --sandbox or --root: let commands use the network'},
		{
			flags: '--grace <TIME>',
			help: 'time after which a call becomes a task, if the client takes tasks; 10s by default',
		},
		{flags: '--max-wait <TIME>', help: 'longest wait of a call whose client asks for no progress; 45s by default'},
		{
			flags: '--max-chars <COUNT>',
			help: 'characters of output in an answer, if the model does not say; 10000 by default',
		},
	],
	details: [
		'A server of the Model Context Protocol, versions 2026-07-28 and 2025-11-25. It is started by the client, such as Claude Code, Codex, Cursor or VS Code: longarm mcp setup writes their configuration.',
		'What is run belongs to its machine, not to the call: it goes on when the client cancels, is killed or loses the link, its output is on disk, and longarm ps and a later client find it again. Processes of this machine are those of your local daemon, which the first command starts.',
		'With --http it listens on a loopback address only, unless there is a token. Web pages are refused by their Origin and Host. Without a token, ids have a random part, so that a client cannot guess those of another.',
		'With --root, file tools and commands see that directory, commands also programs and libraries (/usr, /etc and the like) and a private /tmp; a link that leads out leads nowhere. With --sandbox read-only nothing can be written; with workspace-write the directory of the machine, or the root, /tmp and TMPDIR can be, except .git, .codex and .agents. There is no network then, and no port, unless --network is given. A call can ask for less (sandbox of exec), never for more, and processes that were started otherwise are neither shown nor typed into. Where that cannot be enforced, nothing is done. See docs/sandbox.md.',
		'jobs are ps, wait, logs and stop: for looking after processes that others start.',
	],
	examples: [
		{command: 'longarm mcp', says: 'this machine, or the default environment'},
		{command: 'longarm mcp -e devbox -e build', says: 'two machines; devbox is the default'},
		{command: 'longarm mcp --all --read-only', says: 'look at everything, change nothing'},
		{command: 'longarm mcp --root ~/project', says: 'nothing but this directory'},
		{
			command: 'longarm mcp -e devbox --sandbox workspace-write --network',
			says: 'write in its directory and /tmp only',
		},
		{command: 'longarm mcp --http 127.0.0.1:7780 --token-file token', says: 'for several clients'},
	],
	exitCodes: [[`${EXIT.ok}`, 'the client has left, or Ctrl-C'], ...COMMON_EXIT_CODES],
	async run({options}) {
		const {serveMcp} = await import('./mcp-command.js');
		return serveMcp({
			environments: (options['environment'] ?? []) as readonly string[],
			all: options['all'] === true,
			http: options['http'] as string | undefined,
			tokenFile: options['tokenFile'] as string | undefined,
			allowedOrigins: (options['allowOrigin'] ?? []) as readonly string[],
			tools: options['tools'] as string | undefined,
			readOnly: options['readOnly'] === true,
			root: options['root'] as string | undefined,
			sandbox: options['sandbox'] as string | undefined,
			network: options['network'] === true,
			grace: options['grace'] as string | undefined,
			maxWait: options['maxWait'] as string | undefined,
			maxChars: options['maxChars'] as string | undefined,
		});
	},
};
