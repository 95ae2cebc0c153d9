// covers: src/mcp/server/answers/process-facts.ts, src/mcp/server/sdk-results.ts
import {mkdirSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import type {Client} from '@modelcontextprotocol/client';
import {expect, onTestFinished, test} from 'vitest';
import {
	machineAt,
	machineUrl,
	mcpService,
	RawMcpClient,
	sdkClient,
	TASKS,
	untilTaskRests,
} from '../../helpers/mcp-service.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

/** The structured answer of a tool, which has the same text as the other one. */
async function structure(client: Client, name: string, given: object): Promise<Record<string, unknown>> {
	const {content, structuredContent} = await client.callTool({name, arguments: {...given}});
	const [, ...lines] = (content as {text: string}[])[0]!.text.split('\n');
	const {text = '', ...facts} = structuredContent as Record<string, unknown> & {text?: string};
	expect(text.replace(/\n$/, '')).toBe(lines.join('\n'));
	return facts;
}

for (const [version, modern] of Object.entries({'2025-11-25': false, '2026-07-28': true})) {
	test(`a program of ${version} reads states, codes and sizes of processes from structured answers`, async () => {
		const client = await sdkClient(mcpService([machineAt(await machineUrl())], {maxChars: 200}), {modern});
		expect(await structure(client, 'exec', {command: 'seq 1000; exit 3'})).toEqual({
			machine: 'devbox',
			id: 'p1',
			state: 'exited',
			exit_code: 3,
			elapsed_s: expect.any(Number) as number,
			bytes: 3893,
			omitted_bytes: 3693,
		});
		expect(await structure(client, 'logs', {id: 'p1', tail: 1})).toMatchObject({id: 'p1', bytes: 5, end_byte: 3893});
		expect(await structure(client, 'exec', {command: 'read -s -p "secret: " s', tty: true})).toMatchObject({
			id: 'p2',
			state: 'running',
			waiting_for: 'password',
			omitted_bytes: 0,
		});
		expect(await structure(client, 'screen', {id: 'p2'})).toMatchObject({id: 'p2', cursor: {line: 1, column: 9}});
		const {machines} = await structure(client, 'ps', {});
		expect(machines).toMatchObject([
			{machine: 'devbox', state: 'reachable', processes: [{id: 'p2', state: 'running', bytes: 8}]},
		]);
		expect(await structure(client, 'send', {id: 'p2', keys: ['Enter']})).toMatchObject({state: 'exited', exit_code: 0});
		expect(await structure(client, 'exec', {command: 'sleep 1000', wait_s: 0})).toMatchObject({until: 'time'});
		expect(await structure(client, 'wait', {id: 'p3', until: {silence_s: 0}})).toMatchObject({until: 'silence'});
		expect(await structure(client, 'stop', {id: 'p3'})).toMatchObject({state: 'exited', exit_code: 143, survivors: []});
	});
}

test('a program reads what was done with files and ports from structured answers', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const directory = scratchDirectory();
	const path = join(directory, 'file');
	expect(await structure(client, 'write', {path, content: 'one\ntwo\n'})).toEqual({machine: 'devbox', path, bytes: 8});
	expect(await structure(client, 'edit', {path, old: 'two', new: '2'})).toMatchObject({replaced: 1, line: 2});
	expect(await structure(client, 'read', {path, lines: 1})).toEqual({
		machine: 'devbox',
		path,
		bytes: 6,
		from: 0,
		first_line: 1,
		last_line: 1,
		next_from: 4,
	});
	expect(await structure(client, 'find', {path: directory, text: 'one'})).toMatchObject({
		matches: 1,
		is_partial: false,
	});
	expect(await structure(client, 'copy', {from: path, to: `${path}2`})).toMatchObject({files: 1, bytes: 6, failed: 0});
	mkdirSync(join(directory, 'empty'));
	expect(await structure(client, 'read', {path: join(directory, 'empty')})).toMatchObject({
		directory: true,
		entries: 0,
	});
	writeFileSync(path, PNG);
	expect(await structure(client, 'read', {path})).toMatchObject({mime_type: 'image/png'});
	writeFileSync(path, Buffer.alloc(10));
	expect(await structure(client, 'read', {path})).toMatchObject({binary: true});
	const server = createServer();
	await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => void server.close());
	const {port} = server.address() as AddressInfo;
	expect(await structure(client, 'port', {port})).toMatchObject({port, url: expect.stringMatching(/^http:/) as string});
});

test('several machines are told one by one', async () => {
	const machines = [machineAt(await machineUrl(), 'a'), machineAt('ws://127.0.0.1:1', 'gone')];
	const client = await sdkClient(mcpService(machines));
	const {machines: told} = await structure(client, 'exec', {command: 'exit 4', on: 'a,gone'});
	expect(told).toMatchObject([
		{machine: 'a', state: 'exited', exit_code: 4},
		{machine: 'gone', state: 'lost'},
	]);
});

test('a task ends with the structured answer of its call', async () => {
	const service = mcpService([machineAt(await machineUrl())], {graceMs: 0});
	const client = await RawMcpClient.open(service, {extensions: {[TASKS]: {}}});
	const {taskId} = await client.call('exec', {command: 'exit 5'});
	const {result} = await untilTaskRests(client, taskId);
	expect(result).toMatchObject({structuredContent: {id: 'p1', state: 'exited', exit_code: 5}});
});

test('clients that show their model structured content in place of the text get the text only', async () => {
	const service = mcpService([machineAt(await machineUrl())]);
	const client = await sdkClient(service, {}, 'codex-mcp-client');
	const {tools} = await client.listTools();
	expect(tools.filter(({outputSchema}) => outputSchema !== undefined)).toEqual([]);
	const result = await client.callTool({name: 'exec', arguments: {command: 'echo out'}});
	expect(result.structuredContent).toBeUndefined();
	const others = await sdkClient(service);
	expect((await others.listTools()).tools.every(({outputSchema}) => outputSchema?.type === 'object')).toBe(true);
});
