// covers: src/mcp/server/answering-transport.ts, src/mcp/server/serve-stdio.ts
import {expect, test} from 'vitest';
import {Command} from '../../helpers/command.js';

interface Answer {
	readonly id: number;
	readonly result?: Record<string, unknown>;
}

const INITIALIZE = {
	id: 1,
	method: 'initialize',
	params: {protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {name: 'test', version: '1'}},
};

/** The answers to messages that are all of the input. */
async function answersTo(messages: readonly object[], end = '\n'): Promise<Answer[]> {
	const command = new Command(['mcp']);
	const lines = messages.map(message => JSON.stringify({jsonrpc: '2.0', ...message}));
	command.child.stdin.end(lines.join('\n') + end);
	expect([await command.ended, command.stderr]).toEqual([{code: 0, signal: null}, '']);
	return command.stdout
		.split('\n')
		.filter(line => line !== '')
		.map(line => JSON.parse(line) as Answer)
		.sort((one, other) => one.id - other.id);
}

function call(id: number, command: string): object {
	return {id, method: 'tools/call', params: {name: 'exec', arguments: {command}}};
}

const INITIALIZED = {method: 'notifications/initialized'};

test.each([
	['with a line feed behind the last one', '\n'],
	['without', ''],
])('requests that were read before the end of the input are answered, %s', async (_name, end) => {
	const answers = await answersTo([INITIALIZE, INITIALIZED, {id: 2, method: 'tools/list'}], end);
	expect(answers).toMatchObject([{id: 1, result: {serverInfo: {name: 'longarm'}}}, {id: 2}]);
	expect(answers[1]!.result!['tools']).toContainEqual(expect.objectContaining({name: 'exec'}));
});

test('so are calls that run on after the end of the input, and one that was cancelled is not waited for', async () => {
	const cancel = {method: 'notifications/cancelled', params: {requestId: 3}};
	const answers = await answersTo([
		INITIALIZE,
		INITIALIZED,
		call(2, 'sleep 0.3; echo later'),
		call(3, 'sleep 30'),
		cancel,
	]);
	expect(JSON.stringify(answers.find(({id}) => id === 2)?.result)).toContain('later');
});

test('an input without messages is the end', async () => {
	expect(await answersTo([], '')).toEqual([]);
});
