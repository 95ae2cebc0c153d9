// Runs the conformance suite of the Model Context Protocol against `longarm mcp --http`:
//   node scripts/mcp-conformance.mjs [--all]
// The suite is installed in a scratch folder on demand, with the line of Node it needs. Most of its scenarios call tools,
// resources and prompts of a fixture server by name, or use features that a server need not offer; --all runs these, too.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {scratchFolder} from './lib/scratch-folder.mjs';
import {scratchPackage} from './lib/scratch-package.mjs';

const SUITE = '@modelcontextprotocol/conformance@0.1.16';
/** The suite uses functions that older lines do not have. */
const NODE = 'node@24';
/** Everything that holds for any server with tools. */
const SCENARIOS = [
	'server-initialize',
	'ping',
	'tools-list',
	'dns-rebinding-protection',
	'server-sse-multiple-streams',
];

const {values: flags} = parseArgs({options: {all: {type: 'boolean'}}});
const longarm = fileURLToPath(new URL('../dist/bin/longarm.js', import.meta.url));
const suite = join(
	scratchPackage(SUITE, folder => existsSync(suiteIn(folder))),
	'node_modules',
);
const node = join(
	scratchPackage(NODE, folder => existsSync(nodeIn(folder))),
	'node_modules/node/bin/node',
);
const home = scratchFolder('mcp-conformance');
const env = {...process.env, HOME: home, LONGARM_HOME: home, XDG_STATE_HOME: home};

const machine = start([longarm, 'serve', '--listen', 'ws://127.0.0.1:0', '--state', join(home, 'state')]);
const server = start([longarm, 'mcp', '-e', await firstLine(machine), '--http', '127.0.0.1:0']);
let failed = 0;
try {
	const url = await firstLine(server);
	for (const scenario of flags.all ? [undefined] : SCENARIOS) if (!(await passes(url, scenario))) failed++;
} finally {
	for (const child of [server, machine]) {
		child.kill('SIGTERM');
		await once(child, 'exit');
	}
}
process.exit(failed === 0 ? 0 : 1);

async function passes(url, scenario) {
	const chosen = scenario ? ['--scenario', scenario] : ['--suite', 'all'];
	const file = join(suite, '@modelcontextprotocol/conformance/dist/index.js');
	const child = spawn(node, [file, 'server', '--url', url, ...chosen], {
		stdio: ['ignore', 'pipe', 'inherit'],
		cwd: home,
	});
	let text = '';
	child.stdout.setEncoding('utf8').on('data', piece => (text += piece));
	const [status] = await once(child, 'close');
	if (status !== 0 || !scenario) console.log(text);
	if (scenario) console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${scenario}`);
	return status === 0;
}

function start(args) {
	return spawn(process.execPath, args, {env, stdio: ['ignore', 'pipe', 'inherit']});
}

async function firstLine(child) {
	const [line] = await once(createInterface({input: child.stdout}), 'line');
	return line.trim();
}

function suiteIn(folder) {
	return join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
}

function nodeIn(folder) {
	return join(folder, 'node_modules/node/bin/node');
}
