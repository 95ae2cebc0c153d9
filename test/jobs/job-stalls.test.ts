// covers: src/jobs/hub/job-stalls.ts, src/jobs/hub, src/jobs/nats
import {describe, expect, onTestFinished, test} from 'vitest';
import {openNatsLink} from '../../src/hub/nats/nats-link.js';
import {DirectoryJobs} from '../../src/jobs/hub/directory-jobs.js';
import type {HubJobs, OpenWork, SubmittedJob} from '../../src/jobs/hub/hub-jobs.js';
import {JobStalls} from '../../src/jobs/hub/job-stalls.js';
import {DEFAULT_RULES} from '../../src/jobs/job-description.js';
import {JetStreamJobs} from '../../src/jobs/nats/jet-stream-jobs.js';
import type {ListedJob} from '../../src/jobs/output/job-summary.js';
import {ItemTable} from '../../src/jobs/store/item-table.js';
import {type Logger, silentLogger} from '../../src/shared/logger.js';
import {MetricsRegistry} from '../../src/shared/metrics.js';
import {runningNats} from '../helpers/nats-servers.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const STALL_MS = 200;

interface Opening {
	readonly openWork: OpenWork;
	readonly stalls: JobStalls;
}

const HOMES: Record<string, (opening: Opening) => Promise<HubJobs>> = {
	'a directory': opening => DirectoryJobs.open({...opening, directory: scratchDirectory(), logger: silentLogger}),
	JetStream: async opening => {
		const servers = (await runningNats()).map(({url}) => url);
		const nats = await openNatsLink({servers, name: 'test', logger: silentLogger});
		onTestFinished(() => nats.close());
		return JetStreamJobs.open({...opening, nats, directory: scratchDirectory(), logger: silentLogger});
	},
};

const SUBMISSION: SubmittedJob = {
	inputName: 'rows.csv',
	inputFormat: 'csv',
	rules: DEFAULT_RULES,
	work: {
		command: {kind: 'command', command: {argv: ['true']}, result: 'exit', stdin: 'none', logs: 'none'},
		owner: {token: 'aa', pattern: '*'},
	},
	executors: [{name: 'none', where: 'none', slots: 2}],
};

/** Work that ends at once. */
const openWork: OpenWork = async () => ({
	executors: [{name: 'none', slots: 2, environment: {server: async () => ({}), close: async () => {}} as never}],
	worker: {
		async run(attempt) {
			await attempt.report({row: attempt.rowIndex});
			return {kind: 'reported'};
		},
	},
	dispose: async () => {},
});

async function* twoRows(): AsyncGenerator<Uint8Array, void, void> {
	yield Buffer.from('n\n0\n1\n');
}

function keepingLogger(): {readonly logger: Logger; readonly lines: string[]} {
	const lines: string[] = [];
	const log = (level: string) => (text: string) => void lines.push(`${level} ${text}`);
	return {lines, logger: {...silentLogger, info: log('info'), warn: log('warn')}};
}

function metricsOf(stalls: JobStalls, tenant?: string): string {
	const registry = new MetricsRegistry();
	stalls.addMetrics(registry, tenant);
	return registry.render();
}

async function seen(jobs: HubJobs, jobId: string, isSo: (listed: ListedJob) => boolean): Promise<ListedJob> {
	for (;;) {
		const listed = await jobs.find('default', jobId);
		if (listed && isSo(listed)) return listed;
		await new Promise(resolve => setTimeout(resolve, 20));
	}
}

describe.each(Object.entries(HOMES))('in %s', (_name, openHome) => {
	test('a job whose results do not come is listed, logged once and counted as stalled until they do', async () => {
		const {logger, lines} = keepingLogger();
		const stalls = new JobStalls(logger, STALL_MS);
		let isThere = false;
		const openLate: OpenWork = request => (isThere ? openWork(request) : Promise.reject(new Error('nobody is there')));
		const jobs = await openHome({openWork: openLate, stalls});
		onTestFinished(() => jobs.close());
		const id = await jobs.submit('default', SUBMISSION, twoRows());
		expect(await jobs.find('default', id)).not.toHaveProperty('stalled_seconds');
		const stalled = await seen(jobs, id, ({stalled_seconds: seconds}) => seconds !== undefined);
		expect(stalled.pending_items).toBe(2);
		expect((await jobs.list('default'))[0]).toHaveProperty('stalled_seconds');
		expect(metricsOf(stalls)).toMatch(/^longarm_hub_jobs_stalled 1$/m);
		expect(metricsOf(stalls, 'default')).toMatch(/^longarm_hub_jobs_stalled 1$/m);
		expect(metricsOf(stalls, 'other')).toMatch(/^longarm_hub_jobs_stalled 0$/m);
		isThere = true;
		const ended = await seen(jobs, id, ({status}) => status === 'completed');
		expect(ended).not.toHaveProperty('stalled_seconds');
		await eventually(() => /^longarm_hub_jobs_stalled 0$/m.test(metricsOf(stalls)));
		expect(metricsOf(stalls)).toMatch(/^longarm_hub_job_stalls_total 1$/m);
		expect(lines).toEqual(['warn a job is stalled: no results come', 'info a job that was stalled goes on']);
	});
});

test('a job goes on after a stall with its next result, and one with an item that runs is not stalled', async () => {
	const {logger, lines} = keepingLogger();
	const stalls = new JobStalls(logger, STALL_MS);
	const table = new ItemTable(3);
	table.apply({type: 'run', at: 0}, 0);
	let [running, asked] = [1, 0];
	const countRunning = async (): Promise<number> => {
		asked++;
		return running;
	};
	const job = {jobId: 'job', tenant: 'default', totalItems: 3, maxRuntimeMs: 60_000, table: () => table, countRunning};
	const endWatch = stalls.watch(job);
	onTestFinished(() => endWatch(false));
	await eventually(() => asked > 2);
	expect(stalls.secondsOf('job')).toBeUndefined();
	running = 0;
	await eventually(() => stalls.secondsOf('job') !== undefined);
	table.settle(0, 'completed', 1);
	await eventually(() => stalls.secondsOf('job') === undefined);
	await eventually(() => stalls.secondsOf('job') !== undefined);
	const [stall, goesOn] = ['warn a job is stalled: no results come', 'info a job that was stalled goes on'];
	expect(lines).toEqual([stall, goesOn, stall]);
});

test('a job whose items run for longer than they may is stalled', async () => {
	const stalls = new JobStalls(silentLogger, STALL_MS);
	const table = new ItemTable(1);
	const facts = {jobId: 'job', tenant: 'default', totalItems: 1, maxRuntimeMs: -60_000};
	const job = {...facts, table: () => table, countRunning: async () => 1};
	const endWatch = stalls.watch(job);
	onTestFinished(() => endWatch(false));
	await eventually(() => stalls.secondsOf('job') !== undefined);
	expect(metricsOf(stalls)).toMatch(/^longarm_hub_jobs_stalled 1$/m);
});
