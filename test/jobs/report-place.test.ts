// covers: src/jobs/command/report-place.ts, src/jobs/command/recorded-places.ts
import {existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {newReportDirectory, ReportPlace} from '../../src/jobs/command/report-place.js';
import type {JobExecutor} from '../../src/jobs/item-worker.js';
import {runJob} from '../../src/jobs/run-job.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {commandWorker, newJob} from './job-fixtures.js';

const PERMISSIONS = 0o777;

/** A server on this machine, reached over the network. */
async function there(): Promise<JobExecutor> {
	const {url} = await serving();
	const environment = Environment.remote('there', url);
	onTestFinished(() => environment.close());
	return {name: 'there', environment, slots: 4};
}

test('reports on another machine are in a private directory that nobody can make before', async () => {
	const executor = await there();
	const store = await newJob('n\n1\n2\n');
	const victim = scratchDirectory();
	mkdirSync(join(victim, 'open'), {mode: 0o755});
	// As another user of the machine would, who knows the id of the job.
	const foreseen = `/tmp/longarm-fanout-${store.job.jobId}`;
	symlinkSync(join(victim, 'open'), foreseen);
	onTestFinished(() => rmSync(foreseen, {force: true}));
	const line = `d=$(dirname "$LONGARM_REPORT_FILE"); printf '{{"place": "%s"}}' "$d" > "$LONGARM_REPORT_FILE"; stat -c %a "$d" >&2`;
	const worker = commandWorker(store, line);
	const summary = await runJob({store, worker, executors: [executor], output: false});
	expect(summary).toMatchObject({completed_items: 2});
	expect(statSync(join(victim, 'open')).mode & PERMISSIONS).toBe(0o755);
	expect(readFileSync(join(store.directory, 'logs', '1-row-1.1.err'), 'utf8')).toBe('700\n');
	const {place} = ((await store.readRecord(0)) as {result: {place: string}}).result;
	expect([dirname(place), place.includes(store.job.jobId), existsSync(place)]).toEqual(['/tmp', false, true]);
	await worker.dispose();
	expect(existsSync(place)).toBe(false);
});

test('a directory that is there already, or a link, is not taken', async () => {
	const {environment} = await there();
	const victim = scratchDirectory();
	const path = newReportDirectory();
	onTestFinished(() => rmSync(path, {recursive: true, force: true}));
	symlinkSync(victim, path);
	await expect(new ReportPlace(environment, path).make()).rejects.toThrow('exists');
	rmSync(path);
	mkdirSync(path);
	await expect(new ReportPlace(environment, path).make()).rejects.toThrow('exists');
	expect(newReportDirectory()).not.toBe(path);
});

test('a report that is no file, or longer than results may be, is not read', async () => {
	const {environment} = await there();
	const directory = scratchDirectory();
	const place = new ReportPlace(environment, directory);
	const attempt = {rowIndex: 0, attempt: 1, token: 'a'.repeat(32)};
	symlinkSync('/dev/zero', place.pathOf(attempt));
	expect(await place.take(attempt)).toEqual({kind: 'invalid', error: 'the report is no file'});
	rmSync(place.pathOf(attempt));
	writeFileSync(place.pathOf(attempt), ' '.repeat(5 * 1024 * 1024));
	expect(await place.take(attempt)).toMatchObject({kind: 'invalid'});
	expect(await place.take({...attempt, attempt: 2})).toEqual({kind: 'none'});
});

test('a runner finds the report of an attempt that an earlier one has started', async () => {
	const executor = await there();
	const store = await newJob('n\n1\n');
	const earlier = new ReportPlace(executor.environment, newReportDirectory());
	await earlier.make();
	onTestFinished(() => rmSync(earlier.directory, {recursive: true, force: true}));
	writeFileSync(
		join(store.directory, 'places.jsonl'),
		`${JSON.stringify({executor: 'there', directory: earlier.directory})}\n`,
	);
	await store.append({type: 'run', at: Date.now()});
	await store.append({type: 'claim', at: Date.now(), item: 0, attempt: 1, token: 't'.repeat(32), executor: 'there'});
	writeFileSync(earlier.pathOf({rowIndex: 0, attempt: 1, token: 't'.repeat(32)}), '{"from": "before"}');
	const worker = commandWorker(store, 'echo again');
	await runJob({store, worker, executors: [executor], output: false});
	expect(await store.readRecord(0)).toMatchObject({type: 'report', result: {from: 'before'}});
	await worker.dispose();
	expect(existsSync(earlier.directory)).toBe(false);
});
