import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import type {JobEvent} from '../../src/jobs/engine/job-events.js';
import {runJob} from '../../src/jobs/run-job.js';
import {commandWorker as command, here, newJob as job, NAMES, reporting, workerOf as worker} from './job-fixtures.js';

test('every row is done once, and the output has the columns of the input and of the job', async () => {
	const store = await job(NAMES, {maxConcurrency: 2});
	const summary = await runJob({store, worker: reporting, executors: [here()], output: {strictColumns: true}});
	expect(summary).toMatchObject({status: 'completed', total_items: 6, completed_items: 6, failed_items: 0});
	expect(summary).toMatchObject({job_error: null, failed_item_errors: null, cancelled_items: 0});
	const [header, first, ...rest] = readFileSync(summary.output_csv_path, 'utf8').split('\n');
	expect(header).toBe(
		'name,job_id,item_id,row_index,source_id,status,attempt_count,last_error,result_json,reported_at,completed_at',
	);
	const id = store.job.jobId;
	expect(first).toMatch(
		new RegExp(String.raw`^cat_1,${id},row-1,0,,completed,1,,"\{""item_id"":""row-1""\}",\S+\+00:00,\S+\+00:00$`),
	);
	expect(rest).toHaveLength(6);
});

test('a report that stops the job completes its item, and starts nothing more', async () => {
	const store = await job(NAMES, {maxConcurrency: 1});
	let calls = 0;
	const stopping = worker(async attempt => {
		calls++;
		expect(await attempt.report({}, {stop: true})).toEqual({accepted: true});
		return {kind: 'reported'};
	});
	const summary = await runJob({store, worker: stopping, executors: [here()]});
	expect(calls).toBe(1);
	expect(summary).toMatchObject({status: 'cancelled', completed_items: 1, cancelled_items: 5});
	expect(summary.job_error).toBe('cancelled by worker request');
});

test('commands get the row quoted, in a variable and on standard input, and report what they print', async () => {
	const store = await job(`a,b c\n"it's; $HOME",two\n`);
	const line = `read row; printf '{{"a": "%s", "same": %s}}' {a} "$([ "$row" = "$LONGARM_ROW" ] && echo true || echo false)"`;
	const done = command(store, line);
	const summary = await runJob({store, worker: done, executors: [here()]});
	expect(summary).toMatchObject({status: 'completed', completed_items: 1});
	expect(await store.readRecord(0)).toMatchObject({result: {a: `it's; $HOME`, same: true}, code: 0});
});

test('a command that exits with another code than 0, or prints no object, fails with the reason', async () => {
	const store = await job('n\n3\n0\n');
	const done = command(store, 'echo why >&2; exit {n}');
	const summary = await runJob({store, worker: done, executors: [here()]});
	expect(summary.failed_item_errors?.map(each => each.last_error)).toEqual([
		'worker exited with code 3: why',
		'worker finished without reporting a result',
	]);
	expect(readFileSync(join(store.directory, 'logs/1-row-1.1.err'), 'utf8')).toBe('why\n');
});

test('a report in the file wins over the output, and over the exit code', async () => {
	const store = await job('n\n1\n');
	const done = command(store, `echo '{{"from": "stdout"}}'; echo '{{"from": "file"}}' > $LONGARM_REPORT_FILE; exit 1`);
	await runJob({store, worker: done, executors: [here()]});
	expect(await store.readRecord(0)).toMatchObject({type: 'report', result: {from: 'file'}, code: 1});
});

test('an attempt that takes too long is ended and fails, or is tried again', async () => {
	const store = await job('n\n1\n', {maxRuntimeMs: 1000, retries: 1, retryOn: ['timeout']});
	const events: JobEvent[] = [];
	const done = command(store, 'exec sleep 1000');
	const summary = await runJob({store, worker: done, executors: [here()], onEvent: event => events.push(event)});
	expect(summary.failed_item_errors?.[0]?.last_error).toBe('worker exceeded max runtime of 1s');
	expect(events.filter(({type}) => type === 'item.started')).toHaveLength(2);
	expect(store.table.attemptsOf(0)).toBe(2);
});
