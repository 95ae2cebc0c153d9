import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {runCsvJob} from '../../src/agent-loop/main/csv-jobs.js';
import type {CsvJobRequest} from '../../src/agent-loop/main/spawn-arguments.js';
import {createSpawnTool} from '../../src/agent-loop/main/spawn-tool.js';
import {ModelEndpoint} from '../../src/agent-loop/model/model-endpoint.js';
import {ResponsesClient} from '../../src/agent-loop/model/responses-client.js';
import {UNREPORTED} from '../../src/agent-loop/worker/agent-worker.js';
import {type SeedStats, seedResponder} from '../helpers/model-endpoints.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {localEnvironment} from './attempts.js';

interface Vector {
	readonly case: string;
	readonly responderMode: string;
	readonly inputCsv: string;
	readonly spawnArgs: Record<string, unknown>;
	readonly workersStarted: number;
	readonly reportOutputs: Record<string, number>;
	readonly spawnOutput: string;
	readonly outputCsv: string | null;
}

const {cases} = JSON.parse(readFileSync(new URL('../vectors/fanout-vectors.json', import.meta.url), 'utf8')) as {
	cases: readonly Vector[];
};

function vector(name: string): Vector {
	return cases.find(each => each.case === name)!;
}

interface SpawnOutcome {
	readonly text: string;
	readonly output: string | null;
	readonly stats: SeedStats;
}

interface SpawnOptions {
	readonly mode: string;
	readonly delayMs?: number;
	readonly inputCsv: string;
	readonly args: object;
}

/** Calls the tool in a directory of its own; ids, times and paths are replaced as in the recording. */
async function spawnAgents({mode, delayMs = 0, inputCsv, args}: SpawnOptions): Promise<SpawnOutcome> {
	const directory = scratchDirectory();
	const environment = localEnvironment();
	const responder = await seedResponder({mode, delayMs});
	writeFileSync(join(directory, 'in.csv'), inputCsv);
	const client = new ResponsesClient(new ModelEndpoint(responder.baseUrl, 'any key'), {baseDelayMs: 1});
	const jobs = {
		// With the last request of each worker, so that the endpoint sees all outputs.
		worker: {client, model: 'gpt-5', finishTurn: true},
		environment,
		cwd: directory,
		executors: [{name: 'here', environment, slots: 64}],
		described: [],
		jobsDirectory: join(directory, 'jobs'),
	};
	const tool = createSpawnTool((request, signal) => runCsvJob(jobs, request, signal));
	const signal = new AbortController().signal;
	const given = JSON.stringify(args).replaceAll('<dir>', directory);
	const {text} = await tool.call(given, {callId: 'call', turnId: 'turn', signal});
	const path = /"output_csv_path":"([^"]+)"/.exec(text)?.[1];
	const output = path !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : null;
	return {text: normalise(text, directory), output: output && normalise(output, directory), stats: responder.stats};
}

function normalise(text: string, directory: string): string {
	return text
		.replaceAll(directory, '<dir>')
		.replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '<uuid>')
		.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00/g, '<rfc3339>');
}

/** Cases that we answer differently on purpose. */
const OWN_ANSWERS: Record<string, Partial<Vector>> = {
	// Of two reports in one response the first is taken, always.
	'm-twice': {outputCsv: vector('m-twice').outputCsv!.replace('""n"":2', '""n"":1')},
	// The schema is enforced: the model hears why, and here gives up.
	e10: {
		reportOutputs: {'{"accepted":false,"reason":"schema: the result must have required property \'zzz\'"}': 2},
		spawnOutput: JSON.stringify({
			...(JSON.parse(vector('e10').spawnOutput) as object),
			completed_items: 0,
			failed_items: 2,
			failed_item_errors: ['row-1', 'row-2'].map(id => ({item_id: id, source_id: null, last_error: UNREPORTED})),
		}),
		outputCsv: vector('e10').outputCsv!.replaceAll(/completed,1,,.*$/gm, `failed,1,${UNREPORTED},,,<rfc3339>`),
	},
};

test.each(cases)('spawn_agents_on_csv answers as recorded: $case', async recorded => {
	const expected = {...recorded, ...OWN_ANSWERS[recorded.case]};
	const delay = /^delay (\d+) ms$/.exec(recorded.responderMode);
	// The endpoint goes by the order of requests, which is that of rows only if they come one after the other.
	const order = recorded.responderMode === 'silent' ? {max_concurrency: 1} : {};
	const {text, output, stats} = await spawnAgents({
		mode: delay ? 'normal' : recorded.responderMode,
		delayMs: Number(delay?.[1] ?? 0),
		inputCsv: recorded.inputCsv,
		args: {...recorded.spawnArgs, ...order},
	});
	expect(text).toBe(expected.spawnOutput);
	expect(output).toBe(expected.outputCsv);
	expect(stats.worker).toBe(expected.workersStarted);
	expect(countValues(stats.outputs)).toEqual(expected.reportOutputs);
});

function countValues(values: readonly string[]): Record<string, number> {
	const counts: Record<string, number> = {};
	for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
	return counts;
}

const THREE_ROWS = 'name\na\nb\nc\n';
const ARGS = {csv_path: 'in.csv', instruction: 'Look at {name}.', output_csv_path: 'out.csv'};

test('a worker that asks to stop ends the job after its row', async () => {
	const {text, output, stats} = await spawnAgents({
		mode: 'stop',
		inputCsv: THREE_ROWS,
		args: {...ARGS, max_concurrency: 1},
	});
	expect(JSON.parse(text)).toMatchObject({status: 'cancelled', completed_items: 1, total_items: 3, failed_items: 0});
	expect(output!.match(/,pending,0,/g)).toHaveLength(2);
	expect(stats.worker).toBe(1);
});

test.each([
	['fail', 'synthetic'],
	['cut', 'stream closed before response.completed'],
])('rows whose model always fails (%s) are failed rows of a job that completes', async (mode, error) => {
	const {text} = await spawnAgents({mode, inputCsv: THREE_ROWS, args: ARGS});
	expect(JSON.parse(text)).toMatchObject({
		status: 'completed',
		completed_items: 0,
		failed_items: 3,
		failed_item_errors: [{item_id: 'row-1', last_error: error}, {}, {}],
	});
});

test('without a path the output is beside the input', async () => {
	const {text} = await spawnAgents({
		mode: 'normal',
		inputCsv: THREE_ROWS,
		args: {csv_path: 'in.csv', instruction: 'x'},
	});
	expect((JSON.parse(text) as {output_csv_path: string}).output_csv_path).toMatch(
		/^<dir>\/in\.agent-job-[\da-f]{8}\.csv$/,
	);
});

test.each([
	[{}, 64, 16],
	[{max_concurrency: 0}, 64, 1],
	[{max_concurrency: 1000}, 64, 64],
	[{max_workers: 5}, 64, 5],
	[{max_concurrency: 7, max_workers: 5}, 64, 7],
	[{max_concurrency: 50}, 6, 6],
])('workers at a time for %j with a limit of %i are %i', async (asked, maxWorkers, expected) => {
	const requests: CsvJobRequest[] = [];
	const tool = createSpawnTool(request => {
		requests.push(request);
		return Promise.reject(new Error('nothing is started'));
	}, maxWorkers);
	const signal = new AbortController().signal;
	const args = JSON.stringify({...ARGS, ...asked});
	await expect(tool.call(args, {callId: 'call', turnId: 'turn', signal})).rejects.toThrow('nothing is started');
	expect(requests).toMatchObject([{maxConcurrency: expected, maxRuntimeMs: 1_800_000}]);
});

test.each([
	['{"csv_path":"a"}', 'failed to parse function arguments: missing field `instruction` at line 1 column 16'],
	[
		'{"csv_path":"a","instruction":"b","max_concurrency":-1}',
		'failed to parse function arguments: invalid value: integer `-1`, expected usize at line 1 column 54',
	],
	[
		'{"csv_path":"a","instruction":"b","max_runtime_seconds":9223372036854775808}',
		'max_runtime_seconds must be <= 9223372036854775807',
	],
	['{"csv_path":"a","instruction":"b","output_schema":[1]}', 'output_schema must be a JSON object'],
])('arguments that cannot be used are told to the model: %s', async (args, text) => {
	const tool = createSpawnTool(() => Promise.reject(new Error('nothing is started')));
	const signal = new AbortController().signal;
	expect(await tool.call(args, {callId: 'call', turnId: 'turn', signal})).toEqual({text});
});
