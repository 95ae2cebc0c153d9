// covers: src/mcp/server, src/cli/commands/mcp
import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import {PROGRAM} from '../../helpers/command.js';
import {cutProxy} from '../../helpers/cut-proxy.js';
import {
	callText,
	machineAt,
	machineUrl,
	mcpService,
	sdkClient,
	stdioClient,
	untilListed,
} from '../../helpers/mcp-service.js';

const MIB = 1024 * 1024;
/** Growth of a server that passes on output of any size. */
const MAX_GROWTH_BYTES = 64 * MIB;

function residentBytes(pid: number): number {
	return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) * 1024;
}

test('a hundred calls at once are all answered, each with its own output', async () => {
	const {client} = await stdioClient(await machineUrl());
	const numbers = Array.from({length: 100}, (_, at) => at);
	const answers = await Promise.all(numbers.map(number => callText(client, 'exec', {command: `echo ${number}`})));
	expect(answers.map(answer => Number(answer.split('\n')[1]))).toEqual(numbers);
	expect(new Set(answers.map(answer => / · (p\d+) · /.exec(answer)![1])).size).toBe(100);
	expect(await callText(client, 'ps', {})).toMatch(/· 0 processes\]$/);
});

test('a client that is killed in a call leaves its command to the next one', async () => {
	const url = await machineUrl();
	const {client, pid} = await stdioClient(url);
	const call = client.callTool({name: 'exec', arguments: {command: 'echo still here; sleep 1000', name: 'build'}});
	const closed = call.catch((error: Error) => error.message);
	const next = await sdkClient(mcpService([machineAt(url)]));
	await untilListed(next, /build · running/);
	process.kill(pid, 'SIGKILL');
	expect(await closed).toMatch(/closed/i);
	expect(await callText(next, 'wait', {id: 'build', until: {text: 'still here'}})).toMatch(
		/^\[running .* build .* found/,
	);
	expect(await callText(next, 'stop', {id: 'build'})).toMatch(/^\[ended: exit 143/);
	expect(await callText(next, 'ps', {})).toMatch(/· 0 processes\]$/);
});

test('output of any size costs the server no memory', async () => {
	const {client, pid} = await stdioClient(await machineUrl(), '--max-chars', '1000');
	await callText(client, 'exec', {command: 'seq 100000'});
	const before = residentBytes(pid);
	const text = await callText(client, 'exec', {command: `yes 0123456789 | head -c ${256 * MIB}`});
	expect(text).toMatch(/^\[exit 0 · .* · 268,435,456 bytes, 268,434,456 left out: logs p2\]\n0123456789\n/);
	expect(residentBytes(pid) - before).toBeLessThan(MAX_GROWTH_BYTES);
});

test('binary output is told and stays readable as bytes', async () => {
	const {client} = await stdioClient(await machineUrl());
	const text = await callText(client, 'exec', {command: 'head -c 5000 /dev/zero'});
	expect(text).toMatch(/^\[exit 0 · .* · 5,000 bytes\]\nbinary output, 5,000 bytes: 00 00 .* …$/);
});

test('a link that is cut in the middle of a call comes back, and the answer is whole', async () => {
	const target = await machineUrl();
	const {url, reached} = await cutProxy({target, afterBytes: 6000, effect: 'cut', direction: 'down'});
	const client = await sdkClient(mcpService([machineAt(url)]));
	const command = 'for i in $(seq 400); do echo "line $i"; sleep 0.005; done';
	const text = await callText(client, 'exec', {command});
	await reached;
	expect(text).toMatch(/^\[exit 0 · /);
	expect(text.split('\n').slice(1)).toEqual(Array.from({length: 400}, (_, at) => `line ${at + 1}`));
});

test('the command answers wrong settings before it serves', async () => {
	const {spawnSync} = await import('node:child_process');
	const run = (...args: string[]): string =>
		spawnSync(process.execPath, [PROGRAM, 'mcp', ...args], {encoding: 'utf8', input: ''}).stderr;
	expect(run('--tools', 'exec,none')).toContain('there is no group `none`');
	expect(run('--http', '0.0.0.0:0')).toContain('give --token-file, or listen on 127.0.0.1');
	expect(run('--http', 'nonsense')).toContain('expected an address and a port');
	expect(run('--max-chars', 'many')).toContain('expected a whole number');
	expect(run('--token-file', 'x')).toContain('--token-file is for --http only');
	expect(run('--all', '-e', 'local')).toContain('--all and -e exclude each other');
});

test('an expression that never ends is given up, also for output that only this server has', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl({keeps: false}))]));
	await callText(client, 'exec', {command: `printf '%040d!\\nother\\n' 0`});
	expect(await callText(client, 'logs', {id: 'p1', grep: '^other$'})).toMatch(/\nother$/);
	expect(await callText(client, 'logs', {id: 'p1', grep: '^(0+)+$'})).toMatch(/^ERROR /);
});
