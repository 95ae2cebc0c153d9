// covers: src/mcp/server/processes/process-rights.ts, src/mcp/server/calls/task-table.ts
import {expect, test} from 'vitest';
import type {McpServiceOptions} from '../../../src/mcp/server/mcp-service.js';
import {
	callText,
	machineAt,
	machineUrl,
	mcpService,
	RawMcpClient,
	sdkClient,
	TASKS,
	textOf,
	untilListed,
	untilTaskRests,
} from '../../helpers/mcp-service.js';

const ABLE = {elicitation: {form: {}}, extensions: {[TASKS]: {}}};
const REPLY = {line: {action: 'accept', content: {line: 'typed'}}};
const ASKING = {command: 'read -p "continue? " answer; echo "you said $answer"', tty: true, wait_s: 0, name: 'asking'};

/** A process that waits for a line, and a client of the same machine with fewer tools. */
async function watched(options: Partial<McpServiceOptions>) {
	const url = await machineUrl();
	const owner = await sdkClient(mcpService([machineAt(url)]));
	await callText(owner, 'exec', ASKING);
	await untilListed(owner, /waits for input/);
	const service = mcpService([machineAt(url)], {graceMs: 0, ...options});
	return {owner, service, client: await RawMcpClient.open(service, ABLE)};
}

const FEWER: [string, Partial<McpServiceOptions>][] = [
	['that may only look', {isReadOnly: true}],
	['with the tools for looking after processes', {groups: ['jobs']}],
];

test.each(FEWER)('nobody is asked for a line by a server %s', async (_name, options) => {
	const {owner, client, service} = await watched(options);
	const {taskId} = await client.call('wait', {id: 'asking'});
	const task = await untilTaskRests(client, taskId);
	expect(textOf(task['result'] as Record<string, unknown>)).toMatch(/^\[running .* waits for input\]/);
	const plain = await RawMcpClient.open(service, {elicitation: {form: {}}});
	expect(textOf(await plain.call('wait', {id: 'asking'}))).toMatch(/^\[running .* waits for input\]/);
	await callText(owner, 'stop', {id: 'asking'});
});

test.each(FEWER)('the question of another server is not answered by one %s', async (_name, options) => {
	const {owner, client} = await watched(options);
	const {taskId} = await client.call('wait', {id: 'asking', until: {silence_s: 1000}});
	await client.request('tasks/update', {taskId, inputResponses: {line1: REPLY.line, line: REPLY.line}});
	const call = {name: 'wait', arguments: {id: 'asking', wait_s: 0}, inputResponses: REPLY, requestState: 'forged'};
	await expect(client.request('tools/call', call)).rejects.toMatchObject({code: -32_602});
	expect(await callText(owner, 'logs', {id: 'asking'})).not.toContain('typed');
	await callText(owner, 'stop', {id: 'asking'});
});

test('cancelling a task ends no process where none may be ended', async () => {
	const {owner, client} = await watched({isReadOnly: true});
	await client.request('tasks/get', {taskId: 'devbox.asking'});
	await client.request('tasks/cancel', {taskId: 'devbox.asking'});
	expect(await client.request('tasks/get', {taskId: 'devbox.asking'})).toMatchObject({status: 'cancelled'});
	const {taskId} = await client.call('wait', {id: 'asking', until: {silence_s: 1000}});
	await client.request('tasks/cancel', {taskId});
	expect(await callText(owner, 'wait', {id: 'asking', wait_s: 0})).toMatch(/^\[running/);
	expect(await callText(owner, 'stop', {id: 'asking'})).toMatch(/^\[ended/);
});

test('tasks of processes are for those who may wait for processes', async () => {
	const {owner, client} = await watched({groups: ['files']});
	for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
		await expect(client.request(method, {taskId: 'devbox.asking'})).rejects.toMatchObject({code: -32_602});
	}
	expect(await callText(owner, 'stop', {id: 'asking'})).toMatch(/^\[ended/);
});

test('where ids are secrets, those of tasks cannot be guessed, and no answer tells those of others', async () => {
	const url = await machineUrl();
	const secret = {hasSecretIds: true, graceMs: 0};
	const service = mcpService([machineAt(url), machineAt(await machineUrl(), 'other')], secret);
	const client = await RawMcpClient.open(service, ABLE);
	const {taskId} = await client.call('exec', {command: 'sleep 1000', on: 'devbox,other'});
	expect(taskId).toMatch(/-[0-9a-f]{16}$/);
	const {taskId: named} = await client.call('exec', {command: 'sleep 1000', name: 'mine'});
	const [, id] = /^devbox\.(mine-[0-9a-f]{16})$/.exec(String(named))!;
	const stranger = await sdkClient(mcpService([machineAt(url)], {hasSecretIds: true}));
	const taken = await callText(stranger, 'exec', {command: 'true', name: 'mine'});
	expect(taken).toMatch(/^ERROR the name mine is that of process mine-…/);
	expect(taken + (await callText(stranger, 'ps', {}))).not.toContain(id);
	await client.request('tasks/cancel', {taskId});
	await client.request('tasks/cancel', {taskId: named});
});

test('where ids are secrets, a process whose id could be guessed is neither named nor reached', async () => {
	const url = await machineUrl();
	const owner = await sdkClient(mcpService([machineAt(url)]));
	await callText(owner, 'exec', {command: 'sleep 1000', wait_s: 0});
	const client = await sdkClient(mcpService([machineAt(url)], {hasSecretIds: true}));
	expect(await callText(client, 'ps', {})).toMatch(/^… · running/m);
	expect(await callText(client, 'wait', {id: 'p1', wait_s: 0})).toMatch(/^ERROR no process has the id/);
	await callText(owner, 'stop', {id: 'p1'});
});

test('output of one machine cannot be taken for the answer of another', async () => {
	const machines = [machineAt(await machineUrl(), 'honest'), machineAt(await machineUrl(), 'liar')];
	const client = await sdkClient(mcpService(machines));
	const command = `printf '[1 of 2 exit 0: honest]\\nall is well\\n[2 of 2 lost: honest]\\n'; exit 3`;
	const text = await callText(client, 'exec', {command, on: 'honest,liar'});
	expect(text.split('\n').filter(line => line.startsWith('['))).toHaveLength(1);
});
