import {existsSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import type {JobEvent} from '../../src/jobs/engine/job-events.js';
import {RunningItem} from '../../src/jobs/engine/running-item.js';
import type {ItemAttempt} from '../../src/jobs/item-worker.js';
import {exportJob} from '../../src/jobs/output/export-job.js';
import {runJob} from '../../src/jobs/run-job.js';
import {DirectoryStore} from '../../src/jobs/store/directory-store.js';
import {Deferred} from '../../src/shared/async/deferred.js';
import {serving} from '../helpers/serving.js';
import {commandWorker, here, NAMES, newJob, reporting, workerOf} from './job-fixtures.js';

async function there(name: string, slots = 64) {
	const {url} = await serving();
	const environment = Environment.remote(name, url);
	onTestFinished(() => environment.close());
	return {name, environment, slots};
}

/** The first items run, as a runner that was killed leaves them. */
async function claimAsEarlierRunner(store: DirectoryStore, count: number, at: number): Promise<void> {
	await store.append({type: 'run', at});
	for (let item = 0; item < count; item++) {
		await store.append({type: 'claim', at, item, attempt: 1, token: `t${item}`, executor: 'local'});
	}
}

test('the claim of an item is on disk before its worker is started', async () => {
	const store = await newJob(NAMES);
	const worker = workerOf(async attempt => {
		const journal = readFileSync(join(store.directory, 'journal.jsonl'), 'utf8');
		expect(journal).toContain(`"item":${attempt.rowIndex},"attempt":1,"token":"${attempt.token}"`);
		expect(await attempt.report({})).toEqual({accepted: true});
		return {kind: 'reported'};
	});
	expect(await runJob({store, worker, executors: [here()], output: false})).toMatchObject({completed_items: 6});
});

test('an item that cannot be started fails once, and is not tried for ever', async () => {
	const store = await newJob('n\n1\n');
	const worker = commandWorker(store, '', {command: {argv: ['/no/such/program', '{n}']}});
	const summary = await runJob({store, worker, executors: [here()], output: false});
	expect(summary).toMatchObject({status: 'completed', failed_items: 1});
	expect(store.table.attemptsOf(0)).toBe(1);
});

test('a worker that throws fails its item only', async () => {
	const store = await newJob(NAMES);
	const worker = workerOf(async attempt => {
		if (attempt.rowIndex === 2) throw new Error('broken');
		return reporting.run(attempt);
	});
	const summary = await runJob({store, worker, executors: [here()], output: false});
	expect(summary).toMatchObject({completed_items: 5, failed_items: 1});
	expect(summary.failed_item_errors?.[0]).toMatchObject({item_id: 'row-3', last_error: 'broken'});
});

test('a failed item is tried again for the reasons that were named, and the attempts are counted', async () => {
	const store = await newJob('n\n1\n', {retries: 2, retryOn: ['exit']});
	const worker = commandWorker(store, `[ $LONGARM_ATTEMPT = 3 ] && echo '{{"n": 3}}' || exit 1`);
	expect(await runJob({store, worker, executors: [here()], output: false})).toMatchObject({completed_items: 1});
	expect(store.table.attemptsOf(0)).toBe(3);
	const other = await newJob('n\n1\n', {retries: 2, retryOn: ['timeout']});
	const failing = commandWorker(other, 'exit 1');
	expect(await runJob({store: other, worker: failing, executors: [here()], output: false})).toMatchObject({
		failed_items: 1,
	});
	expect(other.table.attemptsOf(0)).toBe(1);
});

test('workers start side by side: as many as may run are under way at once', async () => {
	const store = await newJob(`n\n${'1\n'.repeat(100)}`, {maxConcurrency: 64});
	const all = new Deferred();
	let running = 0;
	let most = 0;
	const worker = workerOf(async attempt => {
		most = Math.max(most, ++running);
		if (running === 64) all.resolve();
		await all.promise;
		running--;
		return reporting.run(attempt);
	});
	await runJob({store, worker, executors: [here()], output: false});
	expect(most).toBe(64);
});

test('the output is replaced in one step, and one that cannot be written makes the job fail', async () => {
	const store = await newJob(NAMES);
	const path = store.job.outputPath;
	writeFileSync(path, 'old');
	await exportJob(store, path);
	expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(8);
	expect(readdirSync(dirname(path)).filter(name => name.includes('part'))).toEqual([]);
	const blocked = await newJob(NAMES, {}, {output: '/dev/null/out.csv'});
	const summary = await runJob({store: blocked, worker: reporting, executors: [here()]});
	expect(summary).toMatchObject({status: 'failed', completed_items: 6});
	expect(summary.job_error).toMatch(/^auto-export failed: /);
	expect(existsSync('/dev/null/out.csv')).toBe(false);
});

test('items run on several machines at once, each as often as it has slots', async () => {
	const executors = [await there('a', 2), await there('b', 1), here(1)];
	const store = await newJob(NAMES, {placement: {kind: 'round-robin'}});
	const command = commandWorker(store, `echo '{{"item": "'$LONGARM_ITEM_ID'"}}' > "$LONGARM_REPORT_FILE"`);
	const all = new Deferred();
	const running: string[] = [];
	// No item ends before every slot is taken: a fast one would give its slot to the next.
	const worker = workerOf(async attempt => {
		running.push(attempt.executor.name);
		if (running.length === 4) all.resolve();
		await all.promise;
		return command.run(attempt);
	});
	const summary = await runJob({store, worker, executors, output: false});
	expect(summary).toMatchObject({status: 'completed', completed_items: 6});
	expect(running.slice(0, 4).toSorted()).toEqual(['a', 'a', 'b', 'local']);
	await command.dispose();
});

test('a column can name the executor, and a busy one does not hold back the others', async () => {
	const store = await newJob('at\na\na\nb\nnowhere\n', {placement: {kind: 'column', column: 'at'}});
	const other = new Deferred();
	const worker = workerOf(async attempt => {
		if (attempt.executor.name === 'b') other.resolve();
		else await other.promise;
		await attempt.report({on: attempt.executor.name});
		return {kind: 'reported'};
	});
	const summary = await runJob({store, worker, executors: [here(1, 'a'), here(1, 'b')], output: false});
	expect(summary).toMatchObject({completed_items: 3, failed_items: 1});
	expect(summary.failed_item_errors?.[0]?.last_error).toBe('there is no executor named nowhere');
	expect(await store.readRecord(2)).toMatchObject({result: {on: 'b'}});
});

test('a job whose runner is gone goes on: completed items stay, others are done again', async () => {
	const store = await newJob(NAMES, {maxConcurrency: 2});
	const never = workerOf(async attempt => {
		if (attempt.rowIndex < 2) return reporting.run(attempt);
		return new Promise(() => {});
	});
	const reached = new Deferred();
	const onEvent = (event: JobEvent): void => {
		if (event.type === 'item.started' && event.row_index === 3) reached.resolve();
	};
	void runJob({store, worker: never, executors: [here()], onEvent, output: false}).catch(() => {});
	await reached.promise;
	await store.close();
	const done: string[] = [];
	const worker = workerOf(attempt => {
		done.push(`${attempt.itemId}.${attempt.attempt}`);
		return reporting.run(attempt);
	});
	await using again = await DirectoryStore.open(dirname(store.directory), store.job.jobId, 'run');
	expect([...again.table.itemsIn('running')]).toEqual([2, 3]);
	const summary = await runJob({store: again, worker, executors: [here()], output: false});
	expect(summary).toMatchObject({status: 'completed', completed_items: 6});
	expect(done.sort()).toEqual(['row-3.2', 'row-4.2', 'row-5.1', 'row-6.1']);
});

test('a job whose last item was running when its runner was killed is not over before that item is', async () => {
	const store = await newJob('n\n1\n');
	await claimAsEarlierRunner(store, 1, 1);
	const summary = await runJob({store, worker: reporting, executors: [here()], output: false});
	expect(summary).toMatchObject({status: 'completed', completed_items: 1});
	expect(store.table.attemptsOf(0)).toBe(2);
});

test('an item in doubt is not started again before its earlier attempt is settled', async () => {
	const store = await newJob(NAMES, {maxConcurrency: 2});
	await claimAsEarlierRunner(store, 2, Date.now());
	// The record that the first item waits again is slow to reach the disk: others start before.
	const started = new Deferred();
	const append = store.append.bind(store);
	vi.spyOn(store, 'append').mockImplementation(async record => {
		await append(record);
		if (record.type === 'requeue' && record.item === 0) await started.promise;
	});
	const events: JobEvent[] = [];
	const onEvent = (event: JobEvent): void => {
		events.push(event);
		if (event.type === 'item.started') started.resolve();
	};
	const worker = workerOf(async attempt => {
		await new Promise(resolve => setTimeout(resolve, 20));
		return reporting.run(attempt);
	});
	const summary = await runJob({store, worker, executors: [here()], onEvent, output: false});
	expect(summary).toMatchObject({status: 'completed', completed_items: 6, failed_items: 0});
	const ofFirst = events.filter(event => 'row_index' in event && event.row_index === 0).map(({type}) => type);
	expect(ofFirst).toEqual(['item.requeued', 'item.started', 'item.completed']);
	expect(store.table.attemptsOf(0)).toBe(2);
});

test('the time limit of an attempt goes on to the millisecond under the next runner', async () => {
	const maxRuntimeMs = 1_800_000;
	const store = await newJob('n\n1\n', {maxRuntimeMs});
	const from = Date.now();
	// The last millisecond of a second: a time in whole seconds would be nearly a second off.
	const at = from - (from % 1000) - 1;
	await claimAsEarlierRunner(store, 1, at);
	const limitTo = vi.spyOn(RunningItem.prototype, 'limitTo');
	onTestFinished(() => limitTo.mockRestore());
	await runJob({store, worker: reporting, executors: [here()], output: false});
	const [ofOld, ofNew] = limitTo.mock.calls.map(([ms]) => ms);
	expect(ofOld).toBeLessThanOrEqual(maxRuntimeMs - (from - at));
	expect(ofOld).toBeGreaterThanOrEqual(maxRuntimeMs - (Date.now() - at));
	expect(ofNew).toBe(maxRuntimeMs);
});

test('an attempt whose time passed while no runner was there fails if it left no result', async () => {
	const store = await newJob('n\n1\n2\n', {maxRuntimeMs: 1000});
	await claimAsEarlierRunner(store, 2, Date.now() - 60_000);
	const worker = {
		...reporting,
		async recover(attempt: ItemAttempt) {
			if (attempt.rowIndex === 0) return reporting.run(attempt);
			await new Promise(resolve => attempt.signal.addEventListener('abort', resolve));
			return {kind: 'unreported'} as const;
		},
	};
	const summary = await runJob({store, worker, executors: [here()], output: false});
	expect(summary).toMatchObject({completed_items: 1, failed_items: 1});
	expect(summary.failed_item_errors?.[0]?.last_error).toBe('worker exceeded max runtime of 1s');
});

test('a job that is cancelled starts nothing more, and its items wait for another time', async () => {
	const store = await newJob(NAMES, {maxConcurrency: 2});
	const controller = new AbortController();
	const worker = commandWorker(store, 'exec sleep 1000');
	let started = 0;
	const onEvent = (event: JobEvent): void => {
		if (event.type === 'item.started' && ++started === 2) controller.abort(new Error('enough'));
	};
	const summary = await runJob({store, worker, executors: [here()], signal: controller.signal, drainMs: 0, onEvent});
	expect(summary).toMatchObject({status: 'cancelled', job_error: 'cancelled: enough', cancelled_items: 6});
	expect(store.table.counts).toEqual({pending: 6, running: 0, completed: 0, failed: 0});
});

test('a job can end with the first failure', async () => {
	const store = await newJob(NAMES, {maxConcurrency: 1, maxFailures: 1});
	const worker = commandWorker(store, 'exit 1');
	const summary = await runJob({store, worker, executors: [here()], output: false});
	expect(summary).toMatchObject({status: 'cancelled', failed_items: 1, cancelled_items: 5});
	expect(summary.job_error).toBe('stopped after 1 failed items');
});

test('of the reasons that machines give for failures only so much is kept', async () => {
	const store = await newJob(NAMES, {retries: 1, retryOn: ['exit']});
	const worker = workerOf(async () => ({kind: 'failed', reason: 'exit', error: 'x'.repeat(24 * 1024 * 1024)}));
	const events: JobEvent[] = [];
	const onEvent = (event: JobEvent): void => void events.push(event);
	const summary = await runJob({store, worker, executors: [here()], output: false, onEvent});
	expect(summary).toMatchObject({failed_items: 6});
	expect(statSync(join(store.directory, 'journal.jsonl')).size).toBeLessThan(64 * 1024);
	expect(JSON.stringify([events, summary]).length).toBeLessThan(128 * 1024);
});

test('a row names an executor at length, and the error quotes a part of it', async () => {
	const store = await newJob(`where\n${'y'.repeat(1024 * 1024)}\n`, {placement: {kind: 'column', column: 'where'}});
	await runJob({store, worker: reporting, executors: [here()], output: false});
	expect(statSync(join(store.directory, 'journal.jsonl')).size).toBeLessThan(8 * 1024);
});
