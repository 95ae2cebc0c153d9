// Start of `longarm mcp` to the first answer, against a bare MCP server of the same SDK: node bench/mcp-start.mjs [--rounds 15]

import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {readOptions} from './lib/options.mjs';
import {median} from './lib/stats.mjs';

const {rounds: ROUNDS} = readOptions('Start of longarm mcp to its first answer, beside a bare MCP server.', {
	rounds: {default: 15, help: 'starts of each'},
});
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const SDK = join(PACKAGE, 'node_modules/@modelcontextprotocol/server/dist');
const BARE = `import {McpServer} from '${SDK}/index.mjs';
import {serveStdio} from '${SDK}/stdio.mjs';
serveStdio(() => {
	const server = new McpServer({name: 'bare', version: '1'});
	server.registerTool('ping', {description: 'says pong'}, () => ({content: [{type: 'text', text: 'pong'}]}));
	return server;
});
`;
const INITIALIZE = {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'bench', version: '1'}};

const home = mkdtempSync(join(tmpdir(), 'mcp-start-'));
writeFileSync(join(home, 'bare.mjs'), BARE);
const programs = {bare: [join(home, 'bare.mjs')], longarm: [join(PACKAGE, 'dist/bin/longarm.js'), 'mcp']};
const times = {bare: [], longarm: []};
try {
	for (const name of Object.keys(programs)) await measure(programs[name]);
	for (let round = 0; round < ROUNDS; round++) {
		for (const name of Object.keys(programs)) times[name].push(await measure(programs[name]));
	}
} finally {
	rmSync(home, {recursive: true, force: true});
}
const [bare, longarm] = [median(times.bare), median(times.longarm)];
console.log(`bare Node MCP server  ${bare.toFixed(0)} ms to the first list of tools (median of ${ROUNDS})`);
console.log(`longarm mcp           ${longarm.toFixed(0)} ms, ${(longarm / bare).toFixed(2)} times as long`);

/** From the start of the program to its list of tools. */
function measure(args) {
	return new Promise((resolve, reject) => {
		const startedAt = performance.now();
		const env = {...process.env, HOME: home};
		const child = spawn(process.execPath, args, {stdio: ['pipe', 'pipe', 'inherit'], env});
		let text = '';
		child.once('error', reject);
		child.stdout.on('data', data => {
			text += data;
			if (!text.includes('"tools":[')) return;
			resolve(performance.now() - startedAt);
			child.stdin.end();
		});
		const lines = [
			{id: 1, method: 'initialize', params: INITIALIZE},
			{method: 'notifications/initialized'},
			{id: 2, method: 'tools/list'},
		];
		child.stdin.write(lines.map(line => `${JSON.stringify({jsonrpc: '2.0', ...line})}\n`).join(''));
	});
}
