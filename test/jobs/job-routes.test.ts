// covers: src/jobs/hub/job-routes.ts, src/jobs/hub/open-hub-jobs.ts, src/jobs/hub/hub-executors.ts, src/jobs/hub/upload.ts, src/hub/access/internal-tokens.ts
import {type ClientRequest, request} from 'node:http';
import {describe, expect, onTestFinished, test} from 'vitest';
import type {HubBackend} from '../../src/hub/cluster/hub-cluster.js';
import {openNatsBackend} from '../../src/hub/nats/nats-backend.js';
import {MAX_SCHEMA_CHARS, MAX_SCHEMA_MS} from '../../src/jobs/engine/result-schema.js';
import {coversJob, type JobScope} from '../../src/jobs/hub/job-scope.js';
import {openHubJobs} from '../../src/jobs/hub/open-hub-jobs.js';
import type {JobSubmission} from '../../src/jobs/hub/submitted-job.js';
import {MAX_COLUMNS} from '../../src/jobs/input/row-source.js';
import {DEFAULT_RULES} from '../../src/jobs/job-description.js';
import {silentLogger} from '../../src/shared/logger.js';
import {type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {runningNats} from '../helpers/nats-servers.js';
import {eventually} from '../helpers/processes.js';

const BACKENDS: Record<string, () => Promise<HubBackend | undefined>> = {
	'a hub that is alone': async () => undefined,
	'a node on NATS': async () => {
		const servers = (await runningNats()).map(({url}) => url);
		return openNatsBackend({servers, name: 'test', logger: silentLogger});
	},
};

const JOB: JobSubmission = {
	inputName: 'rows.csv',
	inputFormat: 'csv',
	rules: {...DEFAULT_RULES, retryOn: ['lost']},
	command: {kind: 'command', command: {line: "echo '{{}}'; pwd >&2"}, result: 'auto', stdin: 'none', logs: 'all'},
	executors: [{name: 'box', slots: 2}],
};

async function hubWithJobs(openBackend: () => Promise<HubBackend | undefined>): Promise<RunningHub> {
	const backend = await openBackend();
	const hub = await runningHub({backend});
	const {url, data} = hub;
	await openHubJobs({hub: hub.hub, backend, url, data, logger: silentLogger});
	return hub;
}

/** An answer of the hub, as far as the tests look at it. */
interface Answer {
	readonly job_id: string;
	readonly status: string;
	readonly jobs: readonly object[];
	readonly error: {readonly code: string; readonly message: string};
}

async function ask(hub: RunningHub, path: string, body?: string, token = hub.clientToken) {
	const response = await fetch(`${hub.url}${path}`, {
		...(body !== undefined && {method: 'POST', body}),
		headers: {authorization: `Bearer ${token}`},
	});
	const text = await response.text();
	const json = JSON.parse(text.startsWith('{') ? text.split('\n')[0]! : '{}') as Answer;
	return {status: response.status, text, json};
}

function upload(changes: object = {}, rows = 'n\n1\n2\n3\n'): string {
	return `${JSON.stringify({...JOB, ...changes})}\n${rows}`;
}

async function ended(hub: RunningHub, jobId: string): Promise<Answer> {
	for (;;) {
		const {json} = await ask(hub, `/jobs/${jobId}`);
		if (!['pending', 'running'].includes(json.status)) return json;
		await new Promise(resolve => setTimeout(resolve, 20));
	}
}

describe.each(Object.entries(BACKENDS))('%s', (_name, openBackend) => {
	test('a job runs on executors behind the hub, with its output and logs', async () => {
		const hub = await hubWithJobs(openBackend);
		await runningExecutor(hub, 'box');
		const {status, json} = await ask(hub, '/jobs', upload({executors: [{name: 'box', slots: 2, cwd: '/usr'}]}));
		expect(status).toBe(201);
		expect(await ended(hub, json.job_id)).toMatchObject({status: 'completed', completed_items: 3});
		const items = await ask(hub, `/jobs/${json.job_id}/items?form=csv`);
		expect(items.text.split('\n').length).toBe(5);
		expect(items.text).toContain(',box,0,');
		expect((await ask(hub, `/jobs/${json.job_id}/logs?item=row-2`)).json).toMatchObject({attempt: 1, stderr: '/usr\n'});
		expect((await ask(hub, '/jobs')).json.jobs).toMatchObject([{job_id: json.job_id, input_path: 'rows.csv'}]);
	});

	test('a token sees its tenant only, and uses environments of its pattern only', async () => {
		const hub = await hubWithJobs(openBackend);
		await runningExecutor(hub, 'box');
		const {token: other} = await hub.hub.tokens.create('client', '*', 'other');
		const {token: narrow} = await hub.hub.tokens.create('client', 'dev*');
		const {json} = await ask(hub, '/jobs', upload());
		await ended(hub, json.job_id);
		for (const path of ['', '/items', '/logs?item=row-1']) {
			expect((await ask(hub, `/jobs/${json.job_id}${path}`, undefined, other)).status).toBe(404);
		}
		expect((await ask(hub, `/jobs/${json.job_id}/cancel`, '{}', other)).status).toBe(404);
		expect((await ask(hub, '/jobs', undefined, other)).json).toEqual({jobs: []});
		for (const token of [other, narrow]) {
			const refused = await ask(hub, '/jobs', upload(), token);
			expect([refused.status, refused.json.error.code]).toEqual([400, 'job_unusable']);
		}
		expect((await ask(hub, '/jobs', upload(), hub.executorToken)).status).toBe(401);
	});

	test('a token neither sees nor cancels a job that may use machines beyond its pattern', async () => {
		const hub = await hubWithJobs(openBackend);
		await runningExecutor(hub, 'prod-1');
		await runningExecutor(hub, 'dev-1');
		const {token: dev} = await hub.hub.tokens.create('client', 'dev*');
		const {token: all} = await hub.hub.tokens.create('client', 'dev-*');
		const submit = async (executor: string, token: string): Promise<string> => {
			const {json} = await ask(hub, '/jobs', upload({executors: [{name: executor, slots: 1}]}), token);
			await ended(hub, json.job_id);
			return json.job_id;
		};
		const prod = await submit('prod-1', hub.clientToken);
		const both = await ask(
			hub,
			'/jobs',
			upload({
				executors: [
					{name: 'prod-1', slots: 1},
					{name: 'dev-1', slots: 1},
				],
			}),
		);
		for (const id of [prod, both.json.job_id]) {
			for (const path of ['', '/items', '/items?form=csv', '/logs?item=row-1']) {
				expect((await ask(hub, `/jobs/${id}${path}`, undefined, dev)).status).toBe(404);
			}
			expect((await ask(hub, `/jobs/${id}/cancel`, '{}', dev)).status).toBe(404);
		}
		const own = await submit('dev-1', all);
		expect((await ask(hub, `/jobs/${own}`, undefined, dev)).status).toBe(200);
		expect((await ask(hub, '/jobs', undefined, dev)).json.jobs).toMatchObject([{job_id: own}]);
		expect((await ask(hub, '/jobs')).json.jobs).toHaveLength(3);
	});

	test('a job that cannot be used is refused with the reason', async () => {
		const hub = await hubWithJobs(openBackend);
		await runningExecutor(hub, 'box');
		const bad: [string, string][] = [
			['no json\nn\n1\n', 'no JSON'],
			['{}', 'within its first line'],
			[upload({executors: []}), 'executors'],
			[upload({executors: [{name: 'local', slots: 1}]}), 'knows no executor local'],
			[upload({executors: [{name: 'ws://127.0.0.1:1', slots: 1}]}), 'executors.0.name'],
			[upload({command: {...JOB.command, command: {line: 'echo {other}'}}}), '{other}'],
			[upload({surprise: 1}), 'surprise'],
			[upload({}, 'n,m\n1\n'), 'csv row 2'],
		];
		for (const [body, reason] of bad) {
			const {status, json} = await ask(hub, '/jobs', body);
			expect([body, status]).toEqual([body, 400]);
			expect(json.error.message).toContain(reason);
		}
		expect((await ask(hub, '/jobs')).json).toEqual({jobs: []});
		expect((await ask(hub, '/jobs/../../x')).status).toBe(404);
		expect((await ask(hub, `/jobs/${'0'.repeat(36)}`)).status).toBe(404);
		expect((await ask(hub, `/jobs/${'0'.repeat(36)}/cancel`, '{"drain_ms":-1}')).status).toBe(400);
	});

	test('schemas of one tenant, however slow, do not delay the answers to others', async () => {
		const hub = await hubWithJobs(openBackend);
		await runningExecutor(hub, 'box');
		const evil = {properties: {x: {pattern: '^(a+)+$'}}};
		const line = `printf '{{"x":"%s!"}}' ${'a'.repeat(60)}`;
		const command = {...JOB.command, command: {line}};
		const {json} = await ask(hub, '/jobs', upload({command, rules: {...JOB.rules, schema: evil}}, 'n\n1\n'));
		// Compiles for seconds: thousands of expressions that each are a large set of characters.
		const patterns = Array.from({length: 8000}, (_, n) => [`p${n}`, {pattern: `[^\\p{L}${n}]`}]);
		const large = {properties: Object.fromEntries(patterns.slice(0, 3000)) as object};
		const submitted = ask(hub, '/jobs', upload({rules: {...JOB.rules, schema: large}}));
		const {token: other} = await hub.hub.tokens.create('client', '*', 'other');
		const delays: number[] = [];
		const ends = ended(hub, json.job_id);
		const over = new AbortController();
		void Promise.all([submitted, ends]).finally(() => over.abort());
		while (!over.signal.aborted) {
			const before = performance.now();
			expect((await ask(hub, '/jobs', undefined, other)).status).toBe(200);
			delays.push(performance.now() - before);
		}
		expect(Math.max(...delays)).toBeLessThan(MAX_SCHEMA_MS);
		const shown = await ask(hub, `/jobs/${json.job_id}`);
		expect(shown.json).toMatchObject({status: 'completed', failed_items: 1});
		expect(shown.text).toContain('cannot be checked: it takes longer than 2 s');
		const long = {properties: Object.fromEntries(patterns) as object};
		const refused = await ask(hub, '/jobs', upload({rules: {...JOB.rules, schema: long}}));
		expect([refused.status, refused.json.error.message]).toEqual([
			400,
			expect.stringContaining(`at most ${MAX_SCHEMA_CHARS} are allowed`),
		]);
		const unknown = upload({executors: [{name: 'none', slots: 1}], rules: {...JOB.rules, schema: long}});
		expect((await ask(hub, '/jobs', unknown)).json.error.message).toContain('knows no executor none');
	}, 60_000);

	test('a hub without jobs has no such paths, and the token of the hub for itself ends with the job', async () => {
		const plain = await runningHub();
		expect((await ask(plain, '/jobs')).status).toBe(404);
		const hub = await hubWithJobs(openBackend);
		await runningExecutor(hub, 'box');
		const before = hub.hub.internalTokens.goodIds().size;
		const {json} = await ask(hub, '/jobs', upload());
		await ended(hub, json.job_id);
		await eventually(() => hub.hub.internalTokens.goodIds().size === before);
	});
});

test('two nodes on NATS take, run and show the same jobs', async () => {
	const servers = (await runningNats()).map(({url}) => url);
	const open = (): Promise<HubBackend> => openNatsBackend({servers, name: 'test', logger: silentLogger});
	const one = await hubWithJobs(open);
	const other = await hubWithJobs(open);
	await runningExecutor(one, 'box');
	const rows = `n\n${Array.from({length: 30}, (_, index) => `${index}\n`).join('')}`;
	const {json} = await ask(one, '/jobs', upload({}, rows));
	const shown = await ask(other, `/jobs/${json.job_id}`, undefined, one.clientToken);
	expect(shown.status).toBe(200);
	expect(await ended(one, json.job_id)).toMatchObject({status: 'completed', completed_items: 30});
	const items = await ask(other, `/jobs/${json.job_id}/items`, undefined, one.clientToken);
	expect(items.text.trim().split('\n').length).toBe(30);
});

const scope = (pattern: string, ...executors: string[]): JobScope => ({owner: {token: 'aa', pattern}, executors});

test('a job on a pool is seen by tokens that are good for whatever may become its member', () => {
	expect(coversJob({pattern: 'dev*'}, scope('dev-*', 'pool:gpu'))).toBe(true);
	expect(coversJob({pattern: 'dev*'}, scope('dev*', '@os=linux'))).toBe(true);
	expect(coversJob({pattern: '*'}, scope('a*b', 'pool:gpu+os=linux'))).toBe(true);
	// Today all members of the pool may be called dev-1; tomorrow one comes that is not.
	expect(coversJob({pattern: 'dev*'}, scope('*', 'pool:gpu'))).toBe(false);
	expect(coversJob({pattern: 'dev-*'}, scope('dev*', 'pool:gpu'))).toBe(false);
	expect(coversJob({pattern: '*-1'}, scope('*', '@os=linux'))).toBe(false);
	expect(coversJob({pattern: 'dev-1'}, scope('*', 'dev-1'))).toBe(true);
	expect(coversJob({pattern: 'dev-1'}, scope('dev-1', 'dev-1', 'dev-2'))).toBe(false);
});

test('uploads of one token that never end leave room for other tokens and tenants', async () => {
	const hub = await hubWithJobs(async () => undefined);
	await runningExecutor(hub, 'box');
	const {token: colleague} = await hub.hub.tokens.create('client', '*');
	const {token: stranger} = await hub.hub.tokens.create('client', '*', 'other');
	const stuck: ClientRequest[] = [];
	onTestFinished(() => stuck.forEach(each => each.destroy()));
	// As many as there are places.
	for (let count = 0; count < 64; count++) {
		const open = request(`${hub.url}/jobs`, {method: 'POST', headers: {authorization: `Bearer ${hub.clientToken}`}});
		open.on('error', () => {});
		open.write('{');
		stuck.push(open);
	}
	while ((await ask(hub, '/jobs', upload())).status !== 503);
	expect((await ask(hub, '/jobs', upload(), colleague)).status).toBe(201);
	// It has no machines, which is told behind the question whether there is room.
	expect((await ask(hub, '/jobs', upload(), stranger)).json.error.code).toBe('job_unusable');
});

test('rows with too many columns are refused', async () => {
	const hub = await hubWithJobs(async () => undefined);
	await runningExecutor(hub, 'box');
	const wide = Array.from({length: MAX_COLUMNS + 1}, (_, index) => `c${index}`).join(',');
	expect((await ask(hub, '/jobs', upload({}, `${wide}\n${wide}\n`))).json.error.message).toContain('columns');
	const object = Object.fromEntries(wide.split(',').map(name => [name, 1]));
	const json = await ask(hub, '/jobs', upload({inputFormat: 'jsonl'}, `${JSON.stringify(object)}\n`));
	expect(json.json.error.message).toContain('columns');
});
