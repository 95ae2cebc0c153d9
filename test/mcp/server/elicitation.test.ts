// covers: src/mcp/server/sdk-server.ts, src/mcp/server/tools/answer-after-wait.ts
import {expect, test} from 'vitest';
import {
	callText,
	machineAt,
	machineUrl,
	mcpService,
	RawMcpClient,
	sdkClient,
	TASKS,
	textOf,
	untilTaskRests,
} from '../../helpers/mcp-service.js';

const ASKS = {command: 'read -p "continue? " answer; echo "you said $answer"', tty: true};

for (const [version, modern] of Object.entries({'2025-11-25': false, '2026-07-28': true})) {
	test(`a person of a ${version} client is asked for the line that a process waits for, and the command runs once`, async () => {
		const client = await sdkClient(mcpService([machineAt(await machineUrl())]), {
			modern,
			capabilities: {elicitation: {form: {}}},
		});
		const asked: string[] = [];
		client.setRequestHandler('elicitation/create', ({params}) => {
			asked.push(params.message);
			return {action: 'accept', content: {line: 'yes'}};
		});
		expect(await callText(client, 'exec', ASKS)).toMatch(/^\[exit 0 · .* · p1 .*\]\ncontinue\? yes\nyou said yes$/);
		expect(asked).toEqual(['p1 on devbox asks: continue?']);
		expect(await callText(client, 'ps', {all: true})).toMatch(/· 1 processes\]/);
	});

	test(`a person of a ${version} client who declines is not asked again`, async () => {
		const client = await sdkClient(mcpService([machineAt(await machineUrl())]), {
			modern,
			capabilities: {elicitation: {form: {}}},
		});
		let asked = 0;
		client.setRequestHandler('elicitation/create', () => {
			asked++;
			return {action: 'decline'};
		});
		expect(await callText(client, 'exec', ASKS)).toMatch(/^\[running .* waits for input\]/);
		expect(asked).toBe(1);
		await callText(client, 'stop', {id: 'p1'});
	});
}

test('a password is never asked for in a form, and a model that waits for input answers itself', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]), {
		capabilities: {elicitation: {form: {}}},
	});
	client.setRequestHandler('elicitation/create', () => {
		throw new Error('nobody is to be asked');
	});
	expect(await callText(client, 'exec', {command: 'read -s -p "Password: " x', tty: true})).toMatch(
		/waits for a password\]/,
	);
	await callText(client, 'exec', {command: 'read -p "name: " x', tty: true, wait_s: 0});
	expect(await callText(client, 'wait', {id: 'p2', until: {input: true}})).toMatch(/waits for input\]/);
	for (const id of ['p1', 'p2']) await callText(client, 'stop', {id});
});

test('the state of a question cannot be forged', async () => {
	const client = await RawMcpClient.open(mcpService([machineAt(await machineUrl())]), {elicitation: {form: {}}});
	const asked = await client.call('exec', ASKS);
	expect(asked).toMatchObject({resultType: 'input_required', inputRequests: {line: {method: 'elicitation/create'}}});
	const replies = {inputResponses: {line: {action: 'accept', content: {line: 'yes'}}}};
	const forged = {
		name: 'exec',
		arguments: ASKS,
		...replies,
		requestState: `${String(asked['requestState']).slice(0, -2)}xx`,
	};
	await expect(client.request('tools/call', forged)).rejects.toMatchObject({code: -32_602});
	const answer = await client.request('tools/call', {...forged, requestState: asked['requestState']});
	expect(textOf(answer)).toMatch(/^\[exit 0 .*\n.*\nyou said yes$/s);
});

test('a task asks, too, and goes on with tasks/update', async () => {
	const service = mcpService([machineAt(await machineUrl())], {graceMs: 0});
	const client = await RawMcpClient.open(service, {elicitation: {form: {}}, extensions: {[TASKS]: {}}});
	const {taskId} = await client.call('exec', ASKS);
	const task = await untilTaskRests(client, taskId);
	expect(task['status']).toBe('input_required');
	const [key] = Object.keys(task['inputRequests'] as object) as [string];
	await client.request('tasks/update', {taskId, inputResponses: {[key]: {action: 'accept', content: {line: 'ok'}}}});
	const completed = await untilTaskRests(client, taskId);
	expect(textOf(completed['result'] as Record<string, unknown>)).toMatch(/you said ok$/);
});
