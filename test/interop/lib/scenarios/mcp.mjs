import {fileURLToPath} from 'node:url';
import {findTool, runCommand} from '../answers.mjs';
import {startHttpMcp} from '../mcp-http.mjs';
import {call, say} from '../model.mjs';

const STDIO_SERVER = fileURLToPath(new URL('../mcp-server.mjs', import.meta.url));
const LONGARM = fileURLToPath(new URL('../../../../dist/bin/longarm.js', import.meta.url));
/** A model that the client does not know gets MCP tools without a search step. */
const UNKNOWN_MODEL = 'scripted-model';
const TIMEOUTS = ['startup_timeout_sec = 120', 'tool_timeout_sec = 120'];

/** MCP servers that the client reaches through the exec server. */
export const MCP = [
	{
		name: 'f-mcp-stdio',
		model: UNKNOWN_MODEL,
		title: 'stdio MCP server started on the remote environment',
		async run(t) {
			await t.exec(
				async function* () {
					const output = yield* callTool(t, 'x1');
					t.match(output, /tag=x1/);
					t.match(output, /extra=yes/);
					t.ok(!output.includes('side=client'), 'the MCP server runs in the client environment');
					return [say('done')];
				},
				{
					tables: [
						'[mcp_servers.fixture]',
						`command = ${JSON.stringify(process.execPath)}`,
						`args = [${JSON.stringify(STDIO_SERVER)}]`,
						'environment_id = "remote"',
						'required = true',
						...TIMEOUTS,
						`cwd = ${JSON.stringify(t.work)}`,
						'env = { E2E_EXTRA = "yes" }',
					],
				},
			);
			t.onWire(recorder => {
				const starts = recorder.requests('process/start');
				t.ok(
					starts.some(({msg}) => msg.params.pipeStdin === true),
					'no process was started with a piped stdin',
				);
				const writes = recorder.requests('process/write');
				t.ok(writes.length > 0, 'nothing was written to the MCP server over the wire');
			});
		},
	},
	{
		name: 'l-mcp-http',
		model: UNKNOWN_MODEL,
		title: 'HTTP MCP server reached through the remote environment',
		async run(t) {
			const server = await startHttpMcp();
			const tables = ['[mcp_servers.web]', `url = "${server.url}"`, 'environment_id = "remote"', 'required = true'];
			try {
				await t.exec(
					async function* () {
						t.match(yield* callTool(t, 'h1'), /tag=h1/);
						return [say('done')];
					},
					{tables: [...tables, ...TIMEOUTS]},
				);
			} finally {
				await server.stop();
			}
			t.onWire(recorder => t.ok(recorder.requests('http/request').length > 0, 'no http/request was sent'));
		},
	},
	{
		name: 'm-mcp-longarm',
		model: UNKNOWN_MODEL,
		title: 'longarm mcp as the MCP server of the client, on the machine of the server under test',
		async run(t) {
			const state = t.folder('client', 'm-mcp-longarm', 'longarm');
			const variables = [
				`LONGARM_EXEC_SERVER_URL = ${JSON.stringify(t.longarmUrl)}`,
				`LONGARM_HOME = ${JSON.stringify(state)}`,
				...(t.token ? [`LONGARM_EXEC_SERVER_TOKEN = ${JSON.stringify(t.token)}`] : []),
			];
			await t.exec(
				async function* () {
					const use = await toolUser(t, yield [runCommand('true')]);
					const quick = yield* use('exec', {command: 'echo from $((6 * 7)); exit 3'});
					t.match(quick, /\[exit 3 · .* · p\d+ · 8 bytes\]/);
					t.match(quick, /from 42/);
					const slow = yield* use('exec', {
						command: 'until [ -e go ]; do sleep 0.05; done; echo gone',
						cwd: t.work,
						wait_s: 0.2,
					});
					t.match(slow, /\[running · /);
					const [, id] = /· (p\d+) ·/.exec(slow);
					t.match(yield* use('ps', {}), new RegExp(id));
					t.write('go', 'first line\nsecond line\n');
					t.match(yield* use('wait', {id}), /\[exit 0 · [^]*gone/);
					const file = yield* use('read', {path: `remote:${t.work}/go`, line: 2});
					t.match(file, /\[remote · .*\/go · 23 bytes · lines 2-2\][^]*second line/);
					t.ok(!file.includes('first line'), 'read gave a line that was not asked for');
					return [say('done')];
				},
				{
					// A server of the client's own needs a machine of its own.
					environments: ['include_local = true'],
					tables: [
						'[mcp_servers.longarm]',
						`command = ${JSON.stringify(process.execPath)}`,
						`args = [${JSON.stringify(LONGARM)}, "mcp", "-e", "remote"]`,
						'required = true',
						...TIMEOUTS,
						`env = { ${variables.join(', ')} }`,
					],
				},
			);
		},
	},
];

/** A function that calls a tool of longarm and gives its answer. */
async function toolUser(t, {tools}) {
	return async function* (name, args) {
		const tool = findTool(tools, new RegExp(`(?:^|__)${name}$`));
		t.ok(tool, `the MCP tool ${name} was not offered to the model`);
		const made = call(tool.name, args, tool.namespace ? {namespace: tool.namespace} : {});
		const turn = yield [made];
		return turn.output(made);
	};
}

/** Calls the one tool of the server; the client offers it from the second turn on. */
async function* callTool(t, tag) {
	const {tools} = yield [runCommand('true')];
	const tool = findTool(tools, /where/);
	t.ok(tool, `the MCP tool was not offered to the model: ${tools.map(({name}) => name).join(' ')}`);
	const made = call(tool.name, {tag}, tool.namespace ? {namespace: tool.namespace} : {});
	const turn = yield [made];
	return turn.output(made);
}
