import {spawnSync} from 'node:child_process';
import {
	chmodSync,
	cpSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, test} from 'vitest';
import {MCP_CLIENTS} from '../../../src/cli/commands/mcp/setup/mcp-clients.js';
import {MCP_SETUP} from '../../../src/cli/commands/mcp/setup/setup-definition.js';
import {VERSION} from '../../../src/shared/version.js';
import {type Finished, PROGRAM, run} from '../../helpers/command.js';
import {scratchDirectory} from '../../helpers/scratch.js';

interface User {
	readonly home: string;
	readonly setup: (...args: string[]) => Promise<Finished>;
	readonly write: (file: string, text: string, mode?: number) => string;
	readonly read: (file: string) => string;
}

function user(): User {
	const home = scratchDirectory();
	return {
		home,
		setup: (...args) => run(['mcp', 'setup', ...args], {HOME: home, LONGARM_HOME: join(home, '.longarm')}),
		write: (file, text, mode = 0o644) => {
			const path = join(home, file);
			mkdirSync(dirname(path), {recursive: true});
			writeFileSync(path, text);
			chmodSync(path, mode);
			return path;
		},
		read: file => readFileSync(join(home, file), 'utf8'),
	};
}

/** Configurations of all clients on Linux, with something in each. */
const FILES = {
	'.claude.json': '{"numStartups": 3}\n',
	'.config/Claude/claude_desktop_config.json': '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
	'.codex/config.toml': 'model = "m" # mine\n',
	'.cursor/mcp.json': '{}\n',
	'.gemini/settings.json': '{\n  // mine\n  "theme": "dark",\n}\n',
	'.config/Code/User/mcp.json': '{\n\t"servers": {}, /* none */\n\t"inputs": []\n}\n',
	'.config/opencode/opencode.jsonc': '{\n  "$schema": "https://opencode.ai/config.json" // schema\n}\n',
	'.copilot/mcp-config.json': '{"mcpServers": {}}',
};

test('every client is found, shown and written, a second run changes nothing, and --uninstall gives every byte back', async () => {
	const {setup, write, read} = user();
	for (const [file, text] of Object.entries(FILES)) write(file, text);
	const dry = await setup('--dry-run');
	expect([dry.code, dry.stderr]).toEqual([0, '']);
	expect(dry.stdout).toContain('nothing was written (--dry-run)\n');
	for (const [file, text] of Object.entries(FILES)) expect(read(file)).toBe(text);
	const written = await setup();
	expect([written.code, written.stderr]).toEqual([0, '']);
	for (const {title} of MCP_CLIENTS)
		expect(written.stdout).toMatch(new RegExp(`^${title}: /.*: add longarm\n  \\+ `, 'm'));
	const after = Object.keys(FILES).map(read);
	const args = [PROGRAM, 'mcp'];
	expect(JSON.parse(after[0]!)).toEqual({
		numStartups: 3,
		mcpServers: {longarm: {type: 'stdio', command: process.execPath, args}},
	});
	expect(JSON.parse(after[1]!)).toEqual({
		mcpServers: {other: {command: 'x'}, longarm: {command: process.execPath, args}},
	});
	expect(after[2]).toContain(`[mcp_servers.longarm]\ncommand = ${JSON.stringify(process.execPath)}\n`);
	expect(after[5]).toContain('"type": "stdio"');
	expect(after[6]).toContain('"type": "local"');
	expect(JSON.parse(after[7]!)).toEqual({
		mcpServers: {longarm: {type: 'local', command: process.execPath, args, tools: ['*']}},
	});
	const again = await setup();
	expect(again.stdout.match(/: nothing to do\n/g)).toHaveLength(8);
	expect(Object.keys(FILES).map(read)).toEqual(after);
	expect((await setup('--uninstall')).code).toBe(0);
	for (const [file, text] of Object.entries(FILES)) expect(read(file)).toBe(text);
	expect((await setup('--uninstall')).stdout.match(/: nothing to do\n/g)).toHaveLength(8);
});

test('a file that setup made is removed by --uninstall, and options of the server go into it', async () => {
	const {home, setup, read} = user();
	expect((await setup('--client', 'cursor', '--', '-e', 'devbox', '--read-only')).code).toBe(0);
	const {mcpServers} = JSON.parse(read('.cursor/mcp.json')) as {mcpServers: {longarm: {args: string[]}}};
	expect(mcpServers.longarm.args).toEqual([PROGRAM, 'mcp', '-e', 'devbox', '--read-only']);
	expect(statSync(join(home, '.cursor/mcp.json')).mode & 0o777).toBe(0o600);
	expect(statSync(join(home, '.longarm/mcp-setup.json')).mode & 0o777).toBe(0o600);
	expect((await setup('--client', 'cursor')).stdout).toContain(': update the entry longarm\n');
	expect((await setup('--client', 'cursor', '--uninstall')).code).toBe(0);
	expect(existsSync(join(home, '.cursor/mcp.json'))).toBe(false);
});

test('modes and links stay, and nothing is left beside the file', async () => {
	const {home, setup, write, read} = user();
	const real = write('dotfiles/mcp.json', '{}', 0o640);
	mkdirSync(join(home, '.cursor'));
	symlinkSync(real, join(home, '.cursor/mcp.json'));
	await setup();
	expect(statSync(real).mode & 0o777).toBe(0o640);
	expect(readdirSync(join(home, 'dotfiles'))).toEqual(['mcp.json']);
	expect(read('.cursor/mcp.json')).toContain('longarm');
	expect(readFileSync(real, 'utf8')).toBe(read('.cursor/mcp.json'));
});

test('a file that cannot be parsed is left alone without a word of it, and the others are written', async () => {
	const {setup, write, read} = user();
	write('.claude.json', '{"token": "secret" oops}');
	write('.codex/config.toml', 'token = "secret" oops');
	write('.gemini/settings.json', '{"a": "\xFF"}');
	writeFileSync(write('.copilot/mcp-config.json', ''), Buffer.from([0x7b, 0xff, 0x7d]));
	const {code, stdout, stderr} = await setup();
	expect(code).toBe(1);
	expect(stderr).toMatch(/^error: Claude Code: .*\.claude\.json: line 1, column 20: there is no `,`\n/);
	expect(stderr).toMatch(/^error: Codex: .*config\.toml: line 1, column/m);
	expect(stderr).toMatch(/^error: Copilot CLI: .*: it is not UTF-8\n/m);
	expect(stdout + stderr).not.toContain('secret');
	expect([read('.claude.json'), read('.codex/config.toml')]).toEqual([
		'{"token": "secret" oops}',
		'token = "secret" oops',
	]);
	expect(read('.gemini/settings.json')).toContain('longarm');
	const json = JSON.parse((await setup('--json')).stdout) as {client: string; action: string}[];
	expect(json.map(({client, action}) => [client, action])).toEqual([
		['claude-code', 'failed'],
		['codex', 'failed'],
		['gemini', 'unchanged'],
		['copilot', 'failed'],
	]);
});

test('an entry of the user is updated without showing it, and comes back', async () => {
	const {setup, write, read} = user();
	const own = '{"mcpServers": {"longarm": {"command": "old", "env": {"TOKEN": "secret"}}}}';
	write('.cursor/mcp.json', own);
	const {stdout, stderr} = await setup();
	expect(stdout).toContain(': update the entry longarm\n');
	expect(read('.cursor/mcp.json')).toContain('"TOKEN":"secret"');
	expect(stdout + stderr).not.toContain('secret');
	await setup('--uninstall');
	expect(read('.cursor/mcp.json')).toBe(own);
});

test('variables of the clients name their directories', async () => {
	const home = scratchDirectory();
	const env = {
		HOME: home,
		LONGARM_HOME: join(home, 'l'),
		CODEX_HOME: join(home, 'x'),
		CLAUDE_CONFIG_DIR: join(home, 'c'),
		XDG_CONFIG_HOME: join(home, 'g'),
	};
	const {code} = await run(
		['mcp', 'setup', '--client', 'codex', '--client', 'claude-code', '--client', 'opencode'],
		env,
	);
	expect(code).toBe(0);
	for (const file of ['x/config.toml', 'c/.claude.json', 'g/opencode/opencode.json']) {
		expect(readFileSync(join(home, file), 'utf8')).toContain('longarm');
	}
});

test('wrong words are refused, and so is a machine without clients', async () => {
	const {setup} = user();
	for (const [args, says] of [
		[['--client', 'cursed'], '--client cursed: unknown; did you mean cursor? known are claude-code,'],
		[[], 'no MCP client is found; name one with --client: claude-code,'],
		[['--uninstall', '--', '--all'], '--uninstall takes no options of longarm mcp'],
		[['--bogus'], "unknown option '--bogus'; see longarm mcp setup --help"],
	] as const) {
		const {code, stdout, stderr} = await setup(...args);
		expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(says)]);
	}
	const {completes} = MCP_SETUP.options!.find(({flags}) => flags.startsWith('--client'))!;
	expect(completes).toEqual({kind: 'words', words: MCP_CLIENTS.map(({name}) => name)});
});

test.each(['.npm/_npx/643f7dd0e7a121ca', 'pnpm/dlx/abc', 'xfs/dlx-12', 'bunx-0-longarm@latest'])(
	'a program that was fetched to %s is fetched again by the client',
	async cache => {
		const {home, read} = user();
		const installed = join(home, cache, 'node_modules/longarm');
		mkdirSync(dirname(installed), {recursive: true});
		cpSync(dirname(dirname(PROGRAM)), join(installed, 'dist'), {recursive: true});
		cpSync(join(dirname(PROGRAM), '../../package.json'), join(installed, 'package.json'));
		symlinkSync(join(dirname(PROGRAM), '../../node_modules'), join(installed, 'node_modules'));
		const program = join(installed, 'dist/bin/longarm.js');
		const clients = ['--client', 'claude-code', '--client', 'cursor'];
		const child = spawnSync(process.execPath, [program, 'mcp', 'setup', ...clients, '--', '--all'], {
			env: {PATH: process.env['PATH']!, HOME: home, LONGARM_HOME: join(home, '.longarm')},
			encoding: 'utf8',
		});
		expect([child.status, child.stderr]).toEqual([0, '']);
		const server = {command: 'npx', args: ['-y', `longarm@${VERSION}`, 'mcp', '--all']};
		expect(JSON.parse(read('.claude.json'))).toEqual({mcpServers: {longarm: {type: 'stdio', ...server}}});
		expect(JSON.parse(read('.cursor/mcp.json'))).toEqual({mcpServers: {longarm: server}});
	},
);

test('opencode gets the form that its file has: servers in an object of their own, or beside each other', async () => {
	const {setup, write, read} = user();
	const file = '.config/opencode/opencode.json';
	const entry = {type: 'local', command: [process.execPath, PROGRAM, 'mcp']};
	const newer = '{\n  "mcp": {\n    "servers": {\n      "type": {"type": "local", "command": ["x"]}\n    }\n  }\n}\n';
	write(file, newer);
	expect((await setup('--client', 'opencode')).code).toBe(0);
	const type = {type: 'local', command: ['x']};
	expect(JSON.parse(read(file))).toEqual({mcp: {servers: {type, longarm: entry}}});
	expect((await setup('--client', 'opencode')).stdout).toContain('nothing to do');
	await setup('--client', 'opencode', '--uninstall');
	expect(read(file)).toBe(newer);
	for (const servers of [type, {enabled: false}]) {
		write(file, JSON.stringify({mcp: {servers}}));
		await setup('--client', 'opencode');
		expect(JSON.parse(read(file))).toEqual({mcp: {servers, longarm: {...entry, enabled: true}}});
		await setup('--client', 'opencode', '--uninstall');
		expect(JSON.parse(read(file))).toEqual({mcp: {servers}});
	}
});
