import {expect, test} from 'vitest';
import {MAX_WAITING_REQUESTS} from '../../src/server/connection/pending-requests.js';
import {Command} from '../helpers/command.js';
import {joined, OPEN_STDIN} from '../helpers/process-api.js';

/** More than twice the bound: unbounded, they take more than this heap. */
const WAITS = 40_000;
const HEAP = '--max-old-space-size=80';
/** Unknown members are ignored, and must not be kept either: those of all waits are more than the heap. */
const PADDING = 'x'.repeat(3072);
const BATCH = 10_000;

interface Tally {
	answered: number;
	refused: number;
}

test('a flood of waits on a small heap is refused beyond its bound, and terminate ends the rest', async () => {
	const command = new Command(['serve'], {env: {NODE_OPTIONS: HEAP}});
	const client = await joined(await command.url());
	await client.sh('p', 'read line', OPEN_STDIN);
	const tally: Tally = {answered: 0, refused: 0};
	const waits: Promise<void>[] = [];
	while (waits.length < WAITS) {
		for (let index = 0; index < BATCH; index++) {
			const wait = client.call('process/wait', {processId: 'p', padding: PADDING});
			waits.push(
				wait.then(
					() => void tally.answered++,
					error => void (tally.refused += isLimit(error) ? 1 : 0),
				),
			);
		}
		// Replies come in order, so all of the batch has been seen.
		expect(await client.call('environment/status')).toEqual({status: 'ready'});
	}
	expect(tally).toEqual({answered: 0, refused: WAITS - MAX_WAITING_REQUESTS});
	expect(await client.call('process/terminate', {processId: 'p'})).toMatchObject({running: true});
	await Promise.all(waits);
	expect(tally.answered).toBe(MAX_WAITING_REQUESTS);
	expect(await client.call('process/wait', {processId: 'p'})).toMatchObject({running: false});
});

function isLimit(error: unknown): boolean {
	return (error as {data?: {code?: string}}).data?.code === 'REQUEST_LIMIT';
}
