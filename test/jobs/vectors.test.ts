import {existsSync, readFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import type {JobRunner} from '../../src/jobs/engine/job-runner.js';
import type {AttemptOutcome, ItemAttempt} from '../../src/jobs/item-worker.js';
import {runJob} from '../../src/jobs/run-job.js';
import {here, newJob, workerOf} from './job-fixtures.js';

interface Vector {
	readonly case: string;
	readonly responderMode: string;
	readonly inputCsv: string;
	readonly spawnArgs: {
		readonly csv_path: string;
		readonly id_column?: string;
		readonly max_concurrency: number;
		readonly max_runtime_seconds?: number;
	};
	readonly workersStarted: number;
	readonly spawnOutput: string;
	readonly outputCsv: string | null;
}

const {cases} = JSON.parse(readFileSync(new URL('../vectors/fanout-vectors.json', import.meta.url), 'utf8')) as {
	cases: readonly Vector[];
};
const UNREPORTED: AttemptOutcome = {
	kind: 'unreported',
	error: 'worker finished without calling report_agent_job_result',
};
/** Checked before there is a job, by the tool that makes it. */
const OF_THE_TOOL = new Set(['e7', 'e8']);

async function work(mode: string, attempt: ItemAttempt, runner: JobRunner): Promise<AttemptOutcome> {
	const {itemId, rowIndex, token} = attempt;
	switch (mode) {
		case 'silent':
			if (rowIndex % 3 === 0) return UNREPORTED;
			break;
		case 'array':
			await attempt.report([1]);
			return UNREPORTED;
		case 'twice':
			await Promise.all([attempt.report({n: 1}), attempt.report({n: 2})]);
			return {kind: 'reported'};
		case 'wrong': {
			const {accepted} = await runner.report({itemId: 'row-1', token, result: {by: itemId}});
			return accepted ? {kind: 'reported'} : UNREPORTED;
		}
		case 'delay 4000 ms':
			await new Promise(resolve => attempt.signal.addEventListener('abort', resolve));
			return UNREPORTED;
	}
	await attempt.report({item_id: itemId}, {stop: mode === 'stop' && rowIndex === 0});
	return {kind: 'reported'};
}

function normalise(text: string, output: string): string {
	return text
		.replaceAll(output, '<out>')
		.replaceAll(/<dir>\/(sub\/dir\/o|out)\.csv/g, '<out>')
		.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
		.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00/g, '<rfc3339>');
}

function readOptions({spawnArgs}: Vector) {
	const {max_concurrency: width, max_runtime_seconds: seconds, id_column: idColumn, csv_path: path} = spawnArgs;
	const rules = {
		maxConcurrency: Math.max(1, width),
		...(seconds !== undefined && {maxRuntimeMs: 1000 * seconds}),
	};
	const options = {
		...(idColumn !== undefined && {idColumn}),
		...(!path.startsWith('<dir>') && {input: path}),
	};
	return {rules, options};
}

const recorded = cases.filter(each => !OF_THE_TOOL.has(each.case));

test.each(recorded.filter(({outputCsv}) => outputCsv === null))('recorded input $case is refused', async vector => {
	const {rules, options} = readOptions(vector);
	await expect(newJob(vector.inputCsv, rules, options)).rejects.toThrow(vector.spawnOutput);
});

test.each(recorded.filter(({outputCsv}) => outputCsv !== null))('recorded job $case ends the same', async vector => {
	const {responderMode, inputCsv} = vector;
	const {rules, options} = readOptions(vector);
	const store = await newJob(inputCsv, rules, options);
	let runner!: JobRunner;
	let started = 0;
	const worker = workerOf(attempt => {
		started++;
		return work(responderMode, attempt, runner);
	});
	const onRunner = (each: JobRunner): void => void (runner = each);
	const summary = await runJob({store, worker, executors: [here()], onRunner, output: {strictColumns: true}});
	const {cancelled_items: _, ...shared} = summary;
	const output = store.job.outputPath;
	expect(JSON.parse(normalise(JSON.stringify(shared), output))).toEqual(
		JSON.parse(normalise(vector.spawnOutput, output)),
	);
	expect(existsSync(output)).toBe(true);
	// Of two reports the first one counts here; there it is either.
	const expected = responderMode === 'twice' ? vector.outputCsv!.replaceAll('""n"":2', '""n"":1') : vector.outputCsv!;
	expect(normalise(readFileSync(output, 'utf8'), output)).toBe(normalise(expected, output));
	expect(started).toBe(vector.workersStarted);
});
