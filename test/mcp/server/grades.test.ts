// covers: src/mcp/server/tool-service.ts, src/mcp/server/calls, src/mcp/server/sdk-tasks.ts
import {expect, onTestFinished, test, vi} from 'vitest';
import {limitWait} from '../../../src/mcp/server/calls/tool-call.js';
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
import {scratchDirectory} from '../../helpers/scratch.js';

const WITH_TASKS = {extensions: {[TASKS]: {}}};
const BLOCKED = 'echo begun; sleep 1000';

/** A command that ends when a file is there. */
function untilTouched(): {command: string; go: string} {
	const go = `${scratchDirectory()}/go`;
	return {go, command: `until [ -e ${go} ]; do sleep 0.02; done; echo done; exit 5`};
}

async function taskOf(client: RawMcpClient, taskId: unknown): Promise<Record<string, unknown>> {
	return client.request('tasks/get', {taskId});
}

async function untilTask(client: RawMcpClient, taskId: unknown, status: string): Promise<Record<string, unknown>> {
	const task = await untilTaskRests(client, taskId);
	expect(task['status']).toBe(status);
	return task;
}

test('the wait of a call depends on what its client takes', () => {
	expect(limitWait('task', undefined, 45_000)).toBeUndefined();
	expect(limitWait('task', 1000, 45_000)).toBe(1000);
	expect(limitWait('progress', undefined, 45_000)).toBe(45_000);
	expect(limitWait('progress', 180_000, 45_000)).toBe(180_000);
	expect(limitWait('short', undefined, 45_000)).toBe(45_000);
	expect(limitWait('short', 180_000, 45_000)).toBe(45_000);
	expect(limitWait('short', 1000, 45_000)).toBe(1000);
});

test('where tasks are declared, a long command becomes a task that has the same text in the end', async () => {
	const service = mcpService([machineAt(await machineUrl())], {graceMs: 0});
	const client = await RawMcpClient.open(service, WITH_TASKS);
	const {command, go} = untilTouched();
	const created = await client.call('exec', {command});
	expect(created).toMatchObject({resultType: 'task', taskId: 'devbox.p1', status: 'working'});
	expect(created['ttlMs']).toBeGreaterThan(0);
	expect(created['pollIntervalMs']).toBeGreaterThan(0);
	expect(await taskOf(client, 'devbox.p1')).toMatchObject({status: 'working', resultType: 'complete'});
	await callText(await sdkClient(service), 'exec', {command: `touch ${go}`});
	const task = await untilTask(client, 'devbox.p1', 'completed');
	expect(textOf(task['result'] as Record<string, unknown>)).toMatch(/^\[exit 5 · .* · devbox · p1 · 5 bytes\]\ndone$/);
});

test('a task survives the server that made it', async () => {
	const url = await machineUrl();
	const first = await RawMcpClient.open(mcpService([machineAt(url)], {graceMs: 0}), WITH_TASKS);
	const {command, go} = untilTouched();
	const {taskId} = await first.call('exec', {command});
	const service = mcpService([machineAt(url)]);
	const second = await RawMcpClient.open(service, WITH_TASKS);
	expect(await taskOf(second, taskId)).toMatchObject({status: 'working'});
	await callText(await sdkClient(service), 'exec', {command: `touch ${go}`});
	const task = await untilTask(second, taskId, 'completed');
	expect(textOf(task['result'] as Record<string, unknown>)).toMatch(/^\[exit 5/);
	await expect(taskOf(second, 'devbox.p99')).rejects.toMatchObject({code: -32_602});
});

test('cancelling the task of an exec ends the process, cancelling that of a wait ends the waiting', async () => {
	const service = mcpService([machineAt(await machineUrl())], {graceMs: 0});
	const client = await RawMcpClient.open(service, WITH_TASKS);
	await client.call('exec', {command: BLOCKED});
	const {taskId} = await client.call('wait', {id: 'p1'});
	expect(taskId).not.toBe('devbox.p1');
	await client.request('tasks/cancel', {taskId});
	expect(await taskOf(client, taskId)).toMatchObject({status: 'cancelled'});
	const watcher = await sdkClient(service);
	expect(await callText(watcher, 'ps', {})).toMatch(/^p1 · running/m);
	await client.request('tasks/cancel', {taskId: 'devbox.p1'});
	expect(await callText(watcher, 'wait', {id: 'p1'})).toMatch(/^\[exit 143 \(stopped\)/);
	await untilTask(client, 'devbox.p1', 'cancelled');
});

test('a client without tasks never gets one', async () => {
	const client = await RawMcpClient.open(mcpService([machineAt(await machineUrl())], {graceMs: 0}));
	const result = await client.call('exec', {command: BLOCKED, wait_s: 0});
	expect(result['resultType']).toBe('complete');
	expect(textOf(result)).toMatch(/^\[running/);
	await client.call('stop', {id: 'p1'});
});

test('a client with a progress token hears time, bytes and the last line until the answer', async () => {
	vi.useFakeTimers({toFake: ['setInterval', 'clearInterval']});
	onTestFinished(() => void vi.useRealTimers());
	const service = mcpService([machineAt(await machineUrl())]);
	const client = await RawMcpClient.open(service);
	const {command, go} = untilTouched();
	const answer = client.call('exec', {command: `echo compiling; ${command}`, wait_s: 600}, {progressToken: 'build'});
	const other = await sdkClient(service);
	await untilListed(other, /p1 · running · .* · 10 bytes/);
	vi.advanceTimersByTime(5000);
	const {params} = await client.notified(({method}) => method === 'notifications/progress');
	expect(params?.['progressToken']).toBe('build');
	expect(params?.['message']).toMatch(/^p1 · .* s · 10 bytes · compiling$/);
	vi.useRealTimers();
	await callText(other, 'exec', {command: `touch ${go}`});
	expect(textOf(await answer)).toMatch(/^\[exit 5/);
});

test('a cancelled request of the newest protocol leaves its command alone', async () => {
	const service = mcpService([machineAt(await machineUrl())]);
	const client = await RawMcpClient.open(service, WITH_TASKS);
	const id = client.nextId;
	void client.exchange('tools/call', {name: 'exec', arguments: {command: BLOCKED}});
	const watcher = await sdkClient(service);
	await untilListed(watcher, /p1 · running/);
	await client.cancel(id);
	expect(textOf(await client.call('ps', {}))).toMatch(/^p1 · running/m);
	expect(await callText(watcher, 'stop', {id: 'p1'})).toMatch(/^\[ended/);
});
