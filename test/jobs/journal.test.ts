import {appendFileSync, readFileSync, truncateSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, test} from 'vitest';
import {runJob} from '../../src/jobs/run-job.js';
import {DirectoryStore} from '../../src/jobs/store/directory-store.js';
import {ItemTable} from '../../src/jobs/store/item-table.js';
import {here, NAMES, newJob, reporting} from './job-fixtures.js';

const at = 1;

async function reopen(store: DirectoryStore, mode: 'run' | 'look' = 'run'): Promise<DirectoryStore> {
	await store.close();
	return DirectoryStore.open(dirname(store.directory), store.job.jobId, mode);
}

test('the state is the replay of the journal', async () => {
	const store = await newJob(NAMES);
	await runJob({store, worker: reporting, executors: [here()], output: false});
	const counts = {...store.table.counts};
	await using again = await reopen(store);
	expect(again.table.status).toBe('completed');
	expect(again.table.counts).toEqual(counts);
	expect(await again.readRecord(3)).toMatchObject({type: 'report', result: {item_id: 'row-4'}});
});

test('a torn last line is cut off wherever it is torn, and counts as not written', async () => {
	const store = await newJob(NAMES);
	await store.append({type: 'run', at});
	await store.append({type: 'claim', at, item: 0, attempt: 1, token: 't', executor: 'local'});
	await store.append({type: 'report', at, item: 0, result: {}, executor: 'local', ms: 1});
	const journal = join(store.directory, 'journal.jsonl');
	await store.close();
	const whole = readFileSync(journal);
	const lastLine = whole.lastIndexOf('\n', whole.length - 2) + 1;
	for (let end = whole.length - 1; end >= lastLine; end--) {
		writeFileSync(journal, whole);
		truncateSync(journal, end);
		await using torn = await DirectoryStore.open(dirname(store.directory), store.job.jobId, 'run');
		expect(torn.table.statusOf(0)).toBe('running');
		await torn.append({type: 'fail', at, item: 0, kind: 'lost', error: 'x', executor: 'local', ms: 1});
	}
	const lines = readFileSync(journal, 'utf8').trimEnd().split('\n');
	expect(lines.map(line => (JSON.parse(line) as {type: string}).type)).toEqual(['run', 'claim', 'fail']);
});

test('a journal that is damaged in the middle is refused, and not guessed at', async () => {
	const store = await newJob(NAMES);
	await store.append({type: 'run', at});
	await store.close();
	appendFileSync(join(store.directory, 'journal.jsonl'), '{"type":"cla\n{"type":"cancel","at":1,"reason":"x"}\n');
	await expect(reopen(store, 'look')).rejects.toThrow('line 2 of the journal is no record');
});

test('a job has one runner at a time, and readers besides', async () => {
	const store = await newJob(NAMES);
	const jobs = dirname(store.directory);
	await expect(DirectoryStore.open(jobs, store.job.jobId, 'run')).rejects.toThrow(`process ${process.pid}`);
	await using reader = await DirectoryStore.open(jobs, store.job.jobId, 'look');
	expect(() => reader.append({type: 'run', at})).toThrow('to look at it only');
	await store.close();
	// A lock of a process that is gone, whose pid another one has now.
	writeFileSync(join(store.directory, 'lock'), JSON.stringify({pid: process.pid, startTime: '1'}));
	await using next = await DirectoryStore.open(jobs, store.job.jobId, 'run');
	expect(next.table.status).toBe('pending');
});

test('transitions that do not fit the state are refused, and change nothing', () => {
	const table = new ItemTable(2);
	expect(() => table.apply({type: 'cancel', at, reason: 'x'}, 0)).toThrow('the job is pending');
	table.apply({type: 'run', at}, 0);
	const report = {type: 'report', at, item: 0, result: {}, executor: 'local', ms: 1} as const;
	expect(() => table.apply(report, 0)).toThrow('item 0 is pending');
	table.apply({type: 'claim', at, item: 0, attempt: 1, token: 't', executor: 'local'}, 0);
	table.apply({...report, stop: true}, 0);
	expect(() => table.apply(report, 0)).toThrow('item 0 is completed');
	expect(() => table.apply({type: 'claim', at, item: 1, attempt: 1, token: 't', executor: 'local'}, 0)).toThrow(
		'cancelled',
	);
	// Completion cannot take the place of a cancellation.
	expect(() => table.apply({type: 'done', at, status: 'completed'}, 0)).toThrow('the job is cancelled');
	expect(() => new ItemTable(1).apply({type: 'done', at, status: 'completed'}, 0)).toThrow('the job is pending');
	table.apply({type: 'done', at, status: 'cancelled'}, 0);
	expect(() => table.apply({type: 'done', at, status: 'failed'}, 0)).toThrow('the job is cancelled');
	expect(table.counts).toEqual({pending: 1, running: 0, completed: 1, failed: 0});
});

test('transitions that wait for the disk share one sync', async () => {
	const store = await newJob(`n\n${'1\n'.repeat(500)}`);
	await store.append({type: 'run', at});
	const before = store.syncs;
	await Promise.all(
		Array.from({length: 500}, (_, item) =>
			store.append({type: 'claim', at, item, attempt: 1, token: 't', executor: 'local'}),
		),
	);
	expect(store.syncs - before).toBeLessThanOrEqual(2);
});
