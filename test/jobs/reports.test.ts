import {expect, test} from 'vitest';
import {ReportServer} from '../../src/jobs/command/report-server.js';
import type {JobRunner} from '../../src/jobs/engine/job-runner.js';
import {compileSchema} from '../../src/jobs/engine/result-schema.js';
import {JobInputError} from '../../src/jobs/input/job-input-error.js';
import type {ItemAttempt, ReportAnswer} from '../../src/jobs/item-worker.js';
import {runJob} from '../../src/jobs/run-job.js';
import {Deferred} from '../../src/shared/async/deferred.js';
import {failureOf} from '../helpers/waiting.js';
import {here, newJob, workerOf} from './job-fixtures.js';

const SCHEMA = {type: 'object', required: ['n'], properties: {n: {type: 'number'}}};

/** Runs one item whose worker does this, and returns the summary. */
async function withAttempt(work: (attempt: ItemAttempt, runner: JobRunner) => Promise<void>, schema?: unknown) {
	const store = await newJob('n\n1\n2\n', {maxConcurrency: 1, ...(schema !== undefined && {schema})});
	let runner!: JobRunner;
	const worker = workerOf(async attempt => {
		if (attempt.rowIndex === 0) await work(attempt, runner);
		else await attempt.report({n: 2});
		return {kind: 'reported'};
	});
	const summary = await runJob({store, worker, executors: [here()], onRunner: each => (runner = each), output: false});
	return {store, summary};
}

test('of two results the first one counts, also if both come at once', async () => {
	let answers: ReportAnswer[] = [];
	const {store} = await withAttempt(async attempt => {
		answers = await Promise.all([attempt.report({n: 1}), attempt.report({n: 2})]);
		answers.push(await attempt.report({n: 3}));
	});
	const late = {accepted: false, reason: 'not_running'};
	expect(answers).toEqual([{accepted: true}, late, late]);
	expect(await store.readRecord(0)).toMatchObject({result: {n: 1}});
});

test('a result with another token, for another item, or that is no object is refused, and changes nothing', async () => {
	const {summary} = await withAttempt(async (attempt, runner) => {
		const {itemId, token} = attempt;
		expect(await runner.report({itemId, token: 'x', result: {}})).toEqual({accepted: false, reason: 'wrong_worker'});
		expect(await runner.report({itemId: 'row-9', token, result: {}})).toEqual({
			accepted: false,
			reason: 'unknown_item',
		});
		expect(await runner.report({itemId: 'row-2', token, result: {}})).toEqual({accepted: false, reason: 'not_running'});
		for (const result of [[], null, 'text', 1, undefined]) {
			expect(await attempt.report(result)).toMatchObject({accepted: false, reason: 'not_an_object'});
		}
		expect(await attempt.report({n: 1})).toEqual({accepted: true});
	});
	expect(summary).toMatchObject({completed_items: 2, failed_items: 0});
});

test('a result that does not match the schema can be corrected, and the third one fails the item', async () => {
	const {summary} = await withAttempt(async attempt => {
		expect(await attempt.report({n: 'x'})).toMatchObject({
			accepted: false,
			reason: 'schema',
			detail: '/n must be number',
		});
		expect(await attempt.report({})).toMatchObject({accepted: false, reason: 'schema'});
		expect(await attempt.report({n: 1})).toEqual({accepted: true});
	}, SCHEMA);
	expect(summary).toMatchObject({completed_items: 2, failed_items: 0});
	const {summary: other} = await withAttempt(async attempt => {
		for (let count = 0; count < 3; count++) await attempt.report({});
		expect(attempt.signal.aborted).toBe(true);
		expect(await attempt.report({n: 1})).toEqual({accepted: false, reason: 'not_running'});
	}, SCHEMA);
	expect(other.failed_item_errors?.[0]?.last_error).toMatch(/^result does not match the schema: .*'n'/);
});

test('of two reports whose results are checked at the same time, one is accepted', async () => {
	const {summary} = await withAttempt(async attempt => {
		const answers = await Promise.all([attempt.report({n: 1}), attempt.report({n: 2})]);
		expect(answers).toEqual([{accepted: true}, {accepted: false, reason: 'not_running'}]);
	}, SCHEMA);
	expect(summary).toMatchObject({completed_items: 2, failed_items: 0});
});

test('an asynchronous schema is refused, because its check would accept every result', async () => {
	const failure = await failureOf(compileSchema({$async: true, type: 'object', required: ['n']}));
	expect(failure).toBeInstanceOf(JobInputError);
	expect((failure as Error).message).toContain('$async is not supported');
});

test('a result that comes after the time limit is refused', async () => {
	const store = await newJob('n\n1\n', {maxRuntimeMs: 1000});
	let answer: ReportAnswer | undefined;
	const worker = workerOf(async attempt => {
		await new Promise(resolve => attempt.signal.addEventListener('abort', resolve));
		answer = await attempt.report({n: 1});
		return {kind: 'unreported'};
	});
	const summary = await runJob({store, worker, executors: [here()], output: false});
	expect(answer).toEqual({accepted: false, reason: 'not_running'});
	expect(summary.failed_item_errors?.[0]?.last_error).toBe('worker exceeded max runtime of 1s');
});

test('a slot is free as soon as the result is in, before the worker has ended', async () => {
	const store = await newJob('n\n1\n2\n', {maxConcurrency: 1});
	const second = new Deferred();
	const worker = workerOf(async attempt => {
		await attempt.report({});
		if (attempt.rowIndex === 1) second.resolve();
		// The first worker ends only when the second one has run.
		await second.promise;
		return {kind: 'reported'};
	});
	const summary = await runJob({store, worker, executors: [here(1)], output: false});
	expect(summary).toMatchObject({status: 'completed', completed_items: 2});
});

test('reports over HTTP need the token of the attempt, and cancelling needs the secret of the runner', async () => {
	const store = await newJob('n\n1\n2\n', {maxConcurrency: 1});
	await using server = await ReportServer.listen(store.job.jobId);
	const post = async (path: string, body: unknown): Promise<[number, unknown]> => {
		const response = await fetch(`${server.url}${path}`, {method: 'POST', body: JSON.stringify(body)});
		return [response.status, await response.json()];
	};
	const worker = workerOf(async ({jobId, itemId, token}) => {
		const report = {job_id: jobId, item_id: itemId, token, result: {n: 1}};
		expect(await post('/report', {...report, token: 'x'})).toEqual([200, {accepted: false, reason: 'wrong_worker'}]);
		expect(await post('/report', {...report, job_id: 'x'})).toEqual([200, {accepted: false, reason: 'unknown_item'}]);
		expect(await post('/report', [1])).toMatchObject([400, {}]);
		expect(await post('/cancel', {secret: 'x'})).toMatchObject([403, {}]);
		// A job that is cancelled still takes the results of items that run.
		expect(await post('/cancel', {secret: server.secret, reason: 'enough'})).toEqual([200, {cancelled: true}]);
		expect(await post('/report', report)).toEqual([200, {accepted: true}]);
		return {kind: 'reported'};
	});
	const onRunner = (runner: JobRunner): void => server.serve(runner);
	const summary = await runJob({store, worker, executors: [here()], onRunner, output: false});
	expect(summary).toMatchObject({status: 'cancelled', completed_items: 1, cancelled_items: 1, job_error: 'enough'});
});
