import {execFile, spawnSync} from 'node:child_process';
import {copyFileSync, mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command} from './helpers/command.js';
import {scratchDirectory} from './helpers/scratch.js';
import {origin} from './network/origin.js';

const at = (name: string) => new URL(`../examples/${name}`, import.meta.url).pathname;

test.each(['first-process.mjs', 'remote-process.mjs'])(
	'examples/%s runs a command and passes on what it says',
	async name => {
		const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
		const url = await server.url();
		const script = 'echo hello; echo trouble >&2; exit 3';
		const {status, stdout, stderr} = spawnSync(process.execPath, [at(name), url, 'sh', '-c', script], {
			encoding: 'utf8',
		});
		expect([status, stdout, stderr]).toEqual([3, 'hello\n', 'trouble\n']);
		const unusable = spawnSync(process.execPath, [at(name)], {encoding: 'utf8'});
		expect([unusable.status, unusable.stderr]).toEqual([
			2,
			`usage: node examples/${name} ws://127.0.0.1:PORT COMMAND [ARG...]\n`,
		]);
	},
);

test('examples/files.mjs copies a directory to a server and lists it', async () => {
	const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
	const root = scratchDirectory();
	mkdirSync(join(root, 'a'));
	writeFileSync(join(root, 'a', 'file'), 'content');
	const args = [at('files.mjs'), await server.url(), join(root, 'a'), join(root, 'b')];
	const {status, stdout, stderr} = spawnSync(process.execPath, args, {encoding: 'utf8'});
	expect([status, stdout]).toEqual([0, `2 entries, 7 bytes\nfile ${join(root, 'b', 'file')}\n`]);
	expect(stderr).toContain('7 of 7 bytes\n');
});

test('examples/fetch.mjs fetches from where the server is', async () => {
	const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
	const {url: address} = await origin((_request, response) => {
		response.writeHead(200, {'content-type': 'text/plain'}).end('hello\n');
	});
	const args = [at('fetch.mjs'), await server.url(), address];
	// Not in one step: this process is the origin.
	const outcome = await new Promise(resolve => {
		execFile(process.execPath, args, (error, stdout, stderr) => resolve({error, stdout, stderr}));
	});
	expect(outcome).toEqual({error: null, stdout: 'hello\n', stderr: '200 text/plain\n'});
});

test('examples/environments.mjs does the same here and there', async () => {
	const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
	const {status, stdout, stderr} = spawnSync(process.execPath, [at('environments.mjs'), await server.url()], {
		encoding: 'utf8',
	});
	const lines = ['local: Linux says hello (in time)', 'there: Linux says hello (in time)', 'there: ready on 8080'];
	expect([status, stderr, stdout.trimEnd().split('\n')]).toEqual([0, '', [...lines, 'there: exit 7, no such luck']]);
});

test('examples/agent-tools.mjs gives a model its tools', async () => {
	const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
	const {status, stdout, stderr} = spawnSync(process.execPath, [at('agent-tools.mjs'), await server.url()], {
		encoding: 'utf8',
	});
	expect([status, stderr]).toEqual([0, '']);
	expect(stdout).toMatch(/^exec_command, write_stdin\n/);
	expect(stdout).toMatch(/Process running with session ID \d+\n/);
	expect(stdout).toMatch(/Process exited with code 0\n[^]*hello world\r\n/);
});

test('examples/mcp.mjs calls a tool of a server on another machine', async () => {
	const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
	const fixture = new URL('fixtures/mcp-server.mjs', import.meta.url).pathname;
	const args = [at('mcp.mjs'), await server.url(), process.execPath, fixture];
	const {status, stdout, stderr} = spawnSync(process.execPath, args, {encoding: 'utf8'});
	expect([status, stderr, stdout]).toEqual([0, '', 'fixture: echo, hang, crash\n']);
});

/** Stand-ins for the SDKs of agents, which are no dependency: each prints what it was given. */
const SDKS: Record<string, Record<string, string>> = {
	'openai-agents.mjs': {
		'@openai/agents': `
			export class MCPServerStdio {
				constructor(options) { this.options = options; }
				async connect() { this.isConnected = true; }
				async close() { console.log('closed'); }
			}
			export class Agent { constructor(options) { Object.assign(this, options); } }
			export const run = async ({mcpServers: [{options, isConnected}]}, task) =>
				({finalOutput: [isConnected, options.command, ...options.args, task].join(' ')});`,
	},
	'vercel-ai.mjs': {
		ai: `
			export const stepCountIs = count => count;
			export const generateText = async ({tools, prompt}) => ({text: [...tools, prompt].join(' ')});`,
		'@ai-sdk/mcp': `
			export const experimental_createMCPClient = async ({transport: {options}}) => ({
				tools: async () => [true, options.command, ...options.args],
				close: async () => console.log('closed'),
			});`,
		'@ai-sdk/mcp/mcp-stdio':
			'export class Experimental_StdioMCPTransport { constructor(options) { this.options = options; } }',
	},
	'claude-agent.mjs': {
		'@anthropic-ai/claude-agent-sdk': `
			export async function* query({prompt, options: {mcpServers: {longarm}, allowedTools}}) {
				yield {type: 'assistant'};
				yield {type: 'result', result: [longarm.type === 'stdio', longarm.command, ...longarm.args, prompt].join(' ')};
				console.log(allowedTools.includes('mcp__longarm') ? 'closed' : 'no tool is allowed');
			}`,
	},
};

test.each(Object.keys(SDKS))('examples/%s hands the command of the server to its SDK', name => {
	const root = scratchDirectory();
	for (const [module, text] of Object.entries(SDKS[name]!)) {
		const folder = join(root, 'node_modules', module);
		mkdirSync(folder, {recursive: true});
		writeFileSync(
			join(folder, 'package.json'),
			JSON.stringify({name: module, type: 'module', exports: {'.': './index.js', './*': './*/index.js'}}),
		);
		writeFileSync(join(folder, 'index.js'), text);
	}
	copyFileSync(at(name), join(root, name));
	const call = (...args: string[]) => spawnSync(process.execPath, [join(root, name), ...args], {encoding: 'utf8'});
	const {status, stdout, stderr} = call('a task', '-e', 'devbox');
	expect([status, stdout, stderr]).toEqual([0, 'true longarm mcp -e devbox a task\nclosed\n', '']);
	const unusable = call();
	expect([unusable.status, unusable.stderr]).toEqual([
		2,
		`usage: node examples/${name} TASK [OPTIONS of longarm mcp]\n`,
	]);
});
