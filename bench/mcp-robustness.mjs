// Memory of `longarm mcp` while a command on its machine prints a great deal: node bench/mcp-robustness.mjs [--mb 1024]
// Sampled until the answer is there. The growth of the machine's own server is shown beside it.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {MIB} from './lib/measure.mjs';
import {readOptions} from './lib/options.mjs';
import {rssOf} from './lib/proc.mjs';
import {COMMAND, startServer} from './lib/server.mjs';

const SAMPLE_INTERVAL_MS = 50;
const MAX_GROWTH_MIB = 64;

const {mb, command} = readOptions('Memory of longarm mcp while a command prints a great deal.', {
	mb: {default: 1024, help: 'MiB of output'},
	command: COMMAND,
});
const home = mkdtempSync(join(scratchFolder('mcp-robustness'), 'home-'));
const machine = await startServer({command, settings: ['--state', join(home, 'state')], logLevel: 'error'});
const child = spawn(process.execPath, [command, 'mcp', '-e', machine.url, '--max-wait', '10m', '--max-chars', '1000'], {
	env: {...process.env, LONGARM_HOME: home},
	stdio: ['pipe', 'pipe', 'inherit'],
});
const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]();
try {
	process.exitCode = (await measure()) ? 0 : 1;
} finally {
	child.stdin.end();
	await once(child, 'exit');
	await machine.stop();
	rmSync(home, {recursive: true, force: true});
}

/** Whether the output was whole and memory stayed flat. */
async function measure() {
	await ask('initialize', {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'bench', version: '1'}});
	await exec('seq 100000');
	const before = {mcp: rssOf(child.pid), machine: rssOf(machine.pid)};
	const highest = {...before};
	const timer = setInterval(() => {
		highest.mcp = Math.max(highest.mcp, rssOf(child.pid));
		highest.machine = Math.max(highest.machine, rssOf(machine.pid));
	}, SAMPLE_INTERVAL_MS);
	const startedAt = performance.now();
	const header = await exec(`yes 0123456789 | head -c ${mb * MIB}`);
	clearInterval(timer);
	const seconds = (performance.now() - startedAt) / 1000;
	const growth = highest.mcp - before.mcp;
	console.log(header);
	console.log(
		`longarm mcp: ${before.mcp} MiB before, ${highest.mcp} at most, growth ${growth} MiB, ${seconds.toFixed(1)} s`,
	);
	console.log(`its machine: ${before.machine} MiB before, ${highest.machine} at most`);
	const isWhole = header.includes(` ${(mb * MIB).toLocaleString('en-US')} bytes`);
	return isWhole && growth < MAX_GROWTH_MIB;
}

/** The header of the answer. */
async function exec(text) {
	const {content} = await ask('tools/call', {name: 'exec', arguments: {command: text}});
	return content[0].text.split('\n', 1)[0];
}

async function ask(method, params) {
	child.stdin.write(`${JSON.stringify({jsonrpc: '2.0', id: 1, method, params})}\n`);
	const {value} = await lines.next();
	const {result, error} = JSON.parse(value);
	if (error) throw new Error(error.message);
	return result;
}
