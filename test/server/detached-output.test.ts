// covers: src/server/connection/output-pump.ts, src/processes/output/output-log.ts
import {execFileSync} from 'node:child_process';
import {existsSync, writeFileSync} from 'node:fs';
import {join as joinPath} from 'node:path';
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {MAX_CHUNK_BYTES} from '../../src/processes/output/chunk-pool.js';
import {disconnect} from '../helpers/disconnect.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {join, serving} from '../helpers/serving.js';
import {waitTicks} from '../helpers/ticks.js';

interface Page {
	readonly chunks: {readonly seq: number; readonly chunk: string}[];
	readonly nextSeq: number;
	readonly missedBytes?: number;
	readonly closed: boolean;
}

function textOf({chunks}: Page): string {
	return Buffer.concat(chunks.map(({chunk}) => Buffer.from(chunk, 'base64'))).toString();
}

/** A shell script in two halves; the second begins when the test says so, and the test learns when it is over. */
function inTwoHalves(first: string, second: string) {
	const directory = scratchDirectory();
	const [go, over] = [joinPath(directory, 'go'), joinPath(directory, 'over')];
	execFileSync('mkfifo', [go]);
	return {
		script: `${first}; read _ < ${go}; ${second}; touch ${over}; exec sleep 1000`,
		runSecondHalf: async (): Promise<void> => {
			writeFileSync(go, '\n');
			await eventually(() => existsSync(over));
			// All of it is in the pipe now: the server takes it as soon as it looks.
			await waitTicks(50);
		},
	};
}

test('what a process says while nobody is attached is numbered and kept, not replayed', async () => {
	const {script, runSecondHalf} = inTwoHalves('echo one', 'echo two');
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', script);
	await first.client.shows('p', 'one');
	await disconnect(first);
	await runSecondHalf();
	const {client} = await join(host, first.client.sessionId);
	expect(await client.call('process/read', {processId: 'p', afterSeq: 1})).toEqual({
		chunks: [{seq: 2, stream: 'stdout', chunk: Buffer.from('two\n').toString('base64')}],
		nextSeq: 3,
		exited: false,
		exitCode: null,
		closed: false,
		failure: null,
		sandboxDenied: false,
	});
	await client.call('process/terminate', {processId: 'p'});
	await client.done('p');
	expect(client.about('p').map(({method, params}) => [method, params.seq])).toEqual([
		['process/exited', 3],
		['process/closed', 4],
	]);
});

test('a child whose session is detached is not held up, however much it says', async () => {
	const {script, runSecondHalf} = inTwoHalves('true', 'head -c 20000000 /dev/zero');
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', script);
	await disconnect(first);
	await runSecondHalf();
	const {client} = await join(host, first.client.sessionId);
	const page = await client.call<Page>('process/read', {processId: 'p'});
	expect(page.missedBytes! + textOf(page).length).toBe(20_000_000);
	expect(textOf(page).length).toBeGreaterThan(1024 * 1024 - MAX_CHUNK_BYTES);
	expect(textOf(page).length).toBeLessThanOrEqual(1024 * 1024);
});

test('a late reader is told exactly how much it missed, from wherever it reads', async () => {
	const line = 'x'.repeat(99);
	const host = await serving({retainBytes: 10_000});
	const first = await join(host);
	// Every line is a chunk of its own: the next is written when the test has seen the one before.
	await first.client.sh('p', `while read _; do echo ${line}; done`, {pipeStdin: true});
	const count = 250;
	for (let index = 1; index <= count; index++) {
		await first.client.write('p', '\n', `w${index}`);
		await first.client.until(() => first.client.about('p').length >= index);
	}
	await disconnect(first);
	const {client} = await join(host, first.client.sessionId);
	await fc.assert(
		fc.asyncProperty(fc.integer({min: 0, max: count + 5}), async afterSeq => {
			const page = await client.call<Page>('process/read', {processId: 'p', afterSeq});
			const retained = page.chunks.map(({seq}) => seq);
			const firstKept = Math.max(afterSeq, count - 100) + 1;
			expect(retained).toEqual(
				Array.from({length: Math.max(0, count - firstKept + 1)}, (_, index) => firstKept + index),
			);
			const missed = Math.max(0, count - 100 - afterSeq) * 100;
			expect(page.missedBytes).toBe(missed === 0 ? undefined : missed);
			expect(page.nextSeq).toBe(count + 1);
		}),
		{numRuns: 40},
	);
});

test('output, exit and close of a process that ended meanwhile are there to be read', async () => {
	const {script, runSecondHalf} = inTwoHalves('true', 'echo late >&2');
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', script.replace('exec sleep 1000', 'exit 7'));
	await disconnect(first);
	await runSecondHalf();
	const {client} = await join(host, first.client.sessionId);
	const page = await client.call<Page>('process/read', {processId: 'p', afterSeq: 1, waitMs: 100_000});
	expect(page).toMatchObject({chunks: [], exited: true, exitCode: 7});
	expect(textOf(await client.call<Page>('process/read', {processId: 'p'}))).toBe('late\n');
});

test('a resumed connection gets everything from then on, with no number missing or twice', async () => {
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', 'while read line; do echo "$line"; done', {pipeStdin: true});
	let {client, end} = first;
	const seen: number[] = [];
	for (let index = 1; index <= 20; index++) {
		await client.write('p', `${index}\n`, `w${index}`);
		await client.shows('p', `${index}\n`);
		seen.push(...client.about('p').map(({params}) => params.seq));
		await disconnect({client, end});
		({client, end} = await join(host, client.sessionId));
	}
	expect(seen).toEqual(Array.from({length: 20}, (_, index) => index + 1));
});
