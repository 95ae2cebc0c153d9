// covers: src/processes/back-pressure.ts, src/processes/wait/process-wait.ts
import {expect, test} from 'vitest';
import {served} from '../helpers/process-api.js';
import {askUntil} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import type {TestClient} from '../helpers/test-client.js';

const FLOOD = 'exec head -c 100000000 /dev/zero';

async function waitOf(client: TestClient): Promise<string | null | undefined> {
	const {processes} = await client.call<{processes: {waitingFor?: string | null}[]}>('process/list', {all: true});
	return processes[0]?.waitingFor;
}

test('a process whose output has all the room on disk that it was given waits for the limit', async () => {
	const {client} = await served({stateDirectory: scratchDirectory()});
	await client.sh('p', FLOOD, {spill: {maxBytes: 100_000}});
	const wait = await askUntil(
		() => waitOf(client),
		found => typeof found === 'string',
	);
	expect(wait).toBe('limit');
});

test('a process whose reader takes nothing waits for its reader', async () => {
	const {client} = await served();
	await client.sh('p', FLOOD, {acknowledged: true});
	const wait = await askUntil(
		() => waitOf(client),
		found => typeof found === 'string',
	);
	expect(wait).toBe('reader');
});

test('a process that computes or sleeps waits for nothing', async () => {
	const {client} = await served();
	await client.sh('p', 'exec sleep 1000');
	expect(await waitOf(client)).toBeNull();
});
