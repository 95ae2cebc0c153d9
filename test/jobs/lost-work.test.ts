// covers: src/jobs/nats
import {cpSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {type NatsLink, openNatsLink} from '../../src/hub/nats/nats-link.js';
import {loadJetStream} from '../../src/hub/nats/nats-modules.js';
import type {OpenWork, SubmittedJob} from '../../src/jobs/hub/hub-jobs.js';
import type {ItemAttempt} from '../../src/jobs/item-worker.js';
import {DEFAULT_RULES} from '../../src/jobs/job-description.js';
import {itemConsumer} from '../../src/jobs/nats/item-deliveries.js';
import {JetStreamJobs} from '../../src/jobs/nats/jet-stream-jobs.js';
import {JetStreamLink} from '../../src/jobs/nats/jet-stream-link.js';
import {JobLease} from '../../src/jobs/nats/job-lease.js';
import {ensureJobStreams} from '../../src/jobs/nats/job-streams.js';
import {JobSubjects} from '../../src/jobs/nats/job-subjects.js';
import {QueueConsumer} from '../../src/jobs/nats/queue-consumer.js';
import {RESULT_HEADERS} from '../../src/jobs/nats/shared-job.js';
import {StreamReader} from '../../src/jobs/nats/stream-reader.js';
import type {ListedJob} from '../../src/jobs/output/job-summary.js';
import {Deferred} from '../../src/shared/async/deferred.js';
import {silentLogger} from '../../src/shared/logger.js';
import {type NatsServer, runningNats} from '../helpers/nats-servers.js';
import {needs} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const SWEEP_MS = 200;
const SUBJECTS = new JobSubjects('default');

async function linkTo({url}: NatsServer): Promise<NatsLink> {
	const nats = await openNatsLink({servers: [url], name: 'test', logger: silentLogger});
	onTestFinished(() => nats.close());
	return nats;
}

async function openJobs(nats: NatsLink, openWork: OpenWork, leaveMs = 100): Promise<JetStreamJobs> {
	const options = {nats, openWork, directory: scratchDirectory(), logger: silentLogger};
	const jobs = await JetStreamJobs.open({...options, sweepMs: SWEEP_MS, leaveMs});
	onTestFinished(() => jobs.close());
	return jobs;
}

/** Work that ends when `hold` of its row settles. */
function workOf(hold: (row: number) => Promise<unknown>, slots = 1): OpenWork {
	const environment = {kind: 'local', server: async () => ({}), close: async () => {}};
	return async () => ({
		executors: [{name: 'none', slots, environment: environment as never}],
		worker: {
			async run(attempt: ItemAttempt) {
				await hold(attempt.rowIndex);
				await attempt.report({row: attempt.rowIndex});
				return {kind: 'reported'};
			},
		},
		dispose: async () => {},
	});
}

function submit(jobs: JetStreamJobs, count: number, slots = 1): Promise<string> {
	const job: SubmittedJob = {
		inputName: 'rows.csv',
		inputFormat: 'csv',
		rules: {...DEFAULT_RULES, maxConcurrency: slots},
		work: {
			command: {kind: 'command', command: {argv: ['true']}, result: 'exit', stdin: 'none', logs: 'none'},
			owner: {token: 'aa', pattern: '*'},
		},
		executors: [{name: 'none', where: 'none', slots}],
	};
	return jobs.submit('default', job, rows(count));
}

async function* rows(count: number): AsyncGenerator<Uint8Array, void, void> {
	yield Buffer.from(`n\n${Array.from({length: count}, (_, index) => `${index}\n`).join('')}`);
}

async function seen(jobs: JetStreamJobs, jobId: string, isSo: (listed: ListedJob) => boolean): Promise<ListedJob> {
	for (;;) {
		const listed = await jobs.find('default', jobId);
		if (listed && isSo(listed)) return listed;
		await new Promise(resolve => setTimeout(resolve, 20));
	}
}

const hasEnded = ({status}: ListedJob): boolean => status !== 'pending' && status !== 'running';

/** Rows of the results in the stream, in its order. */
async function resultsIn(nats: NatsLink, jobId: string): Promise<number[]> {
	const link = await JetStreamLink.open(nats);
	onTestFinished(() => link.close());
	const found: number[] = [];
	for (let from = 1; ; ) {
		const query = {seq: from, next_by_subj: SUBJECTS.result(jobId, '*')};
		const message = await link.findMessage(SUBJECTS.resultStream, query);
		if (!message) return found;
		found.push(message.json<{result: {row: number}}>().result.row);
		from = message.seq + 1;
	}
}

async function outputOf(jobs: JetStreamJobs, jobId: string): Promise<string[]> {
	const lines: string[] = [];
	for await (const line of (await jobs.readItems('default', jobId, 'jsonl'))!) {
		const {status, result_json: result} = JSON.parse(line) as {status: string; result_json: string};
		lines.push(`${status} ${result}`);
	}
	return lines;
}

/** Ends the server; settles with a copy of its files. */
async function takeCopy(server: NatsServer): Promise<string> {
	await server.stop();
	const copy = join(scratchDirectory(), 'copy');
	cpSync(server.directory, copy, {recursive: true});
	return copy;
}

/** Starts a server that has ended with these files instead of its own. */
async function startWith(server: NatsServer, files: string): Promise<void> {
	rmSync(server.directory, {recursive: true});
	cpSync(files, server.directory, {recursive: true});
	await server.start();
}

function completed(count: number): string[] {
	return Array.from({length: count}, (_, row) => `completed {"row":${row}}`);
}

test('a runner that is offered nothing but items that are done asks for others', needs('nats-server'), async () => {
	const [server] = await runningNats();
	const nats = await linkTo(server!);
	const go = new Deferred();
	const work = workOf(async () => {}, 2);
	const jobs = await openJobs(nats, async request => {
		await go.promise;
		return work(request);
	});
	const id = await submit(jobs, 6, 2);
	// The runners of these items were killed after they had published the results and before they acknowledged the items.
	const client = loadJetStream().jetstream(nats.connection);
	const {headers} = await import('@nats-io/transport-node');
	for (const row of [0, 1]) {
		const item = {itemId: `row-${row + 1}`, sourceId: null, row: {n: String(row)}};
		await client.publish(SUBJECTS.queued('default', id, row), JSON.stringify(item));
		const head = headers();
		head.set(RESULT_HEADERS.status, 'completed');
		head.set(RESULT_HEADERS.attempt, '1');
		const record = {type: 'report', at: 0, item: row, result: {row}, executor: 'none', ms: 0};
		await client.publish(SUBJECTS.result(id, row), JSON.stringify(record), {headers: head});
	}
	await seen(jobs, id, ({completed_items: done}) => done === 2);
	go.resolve();
	expect(await seen(jobs, id, hasEnded)).toMatchObject({status: 'completed', completed_items: 6});
	expect(await outputOf(jobs, id)).toEqual(completed(6));
	expect((await resultsIn(nats, id)).toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5]);
});

test('results that the brokers have acknowledged and lost are made again before the job completes', {
	...needs('nats-server'),
	timeout: 120_000,
}, async () => {
	const [server] = await runningNats();
	const nats = await linkTo(server!);
	const gates = Array.from({length: 6}, () => new Deferred());
	const work = workOf(row => gates[row]!.promise);
	const earlier = await openJobs(nats, work, 10_000);
	const id = await submit(earlier, 6);
	gates[0]!.resolve();
	await seen(earlier, id, ({completed_items: done, running_items: running}) => done === 1 && running === 1);
	// Takes no item any more: one that is out now would be delivered again after the time for acknowledgements only.
	const closing = earlier.close();
	gates[1]!.resolve();
	await closing;
	const backup = await takeCopy(server!);
	await server!.start();
	const jobs = await openJobs(nats, work);
	for (const row of [2, 3]) gates[row]!.resolve();
	await seen(jobs, id, ({completed_items: done}) => done === 4);
	// A power cut takes what was not synced: the results of the rows 2 and 3 are gone, and their numbers are given to others.
	await server!.kill();
	await startWith(server!, backup);
	for (const row of [4, 5]) gates[row]!.resolve();
	expect(await seen(jobs, id, hasEnded)).toMatchObject({status: 'completed', completed_items: 6});
	expect((await resultsIn(nats, id)).toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5]);
	expect(await outputOf(jobs, id)).toEqual(completed(6));
});

test('a result that is removed is made again although the broker remembers its id', needs('nats-server'), async () => {
	const [server] = await runningNats();
	const nats = await linkTo(server!);
	const last = new Deferred();
	const jobs = await openJobs(
		nats,
		workOf(row => (row === 3 ? last.promise : Promise.resolve())),
	);
	const id = await submit(jobs, 4);
	await seen(jobs, id, ({completed_items: done}) => done === 3);
	const link = await JetStreamLink.open(nats);
	await link.purge(SUBJECTS.resultStream, SUBJECTS.result(id, 1));
	link.close();
	last.resolve();
	expect(await seen(jobs, id, hasEnded)).toMatchObject({status: 'completed', completed_items: 4});
	expect(await resultsIn(nats, id)).toEqual([0, 2, 3, 1]);
	expect(await outputOf(jobs, id)).toEqual(completed(4));
});

test(
	'a consumer that takes items of the queue for delivered is replaced by one that offers them',
	needs('nats-server'),
	async () => {
		const [server] = await runningNats();
		const nats = await linkTo(server!);
		const link = await JetStreamLink.open(nats);
		onTestFinished(() => link.close());
		await ensureJobStreams(link, SUBJECTS);
		const stream = SUBJECTS.queueStream;
		const config = itemConsumer('job', SUBJECTS.queued('default', 'job', '*'), 4);
		for (const row of [0, 1, 2]) await link.publish(SUBJECTS.queued('default', 'job', row), '{}');
		await link.ensureConsumer(stream, config);
		// The consumer keeps that all were acknowledged, and the queue loses that they were removed.
		await server!.kill();
		const messages = join(server!.directory, 'jetstream', '$G', 'streams', stream, 'msgs');
		const backup = join(scratchDirectory(), 'backup');
		cpSync(messages, backup, {recursive: true});
		await server!.start();
		await link.findConsumer(stream, config.name);
		const client = loadJetStream().jetstream(nats.connection);
		const taken = await (await client.consumers.get(stream, config.name)).fetch({max_messages: 3});
		for await (const message of taken) await message.ackAck();
		await server!.stop();
		rmSync(messages, {recursive: true});
		cpSync(backup, messages, {recursive: true});
		await server!.start();
		expect(await link.findConsumer(stream, config.name)).toMatchObject({num_pending: 0, num_ack_pending: 0});
		const consumer = new QueueConsumer({link, stream, config, maxRuntimeMs: 1000});
		const {signal} = new AbortController();
		expect(await consumer.repair(() => 0, signal)).toBe('the queue has 3 items, and its consumer knows of 0');
		expect(await link.findConsumer(stream, config.name)).toMatchObject({num_pending: 3});
		expect(await consumer.repair(() => 0, signal)).toBeUndefined();
	},
);

test('a queue without a consumer gets one', needs('nats-server'), async () => {
	const [server] = await runningNats();
	const nats = await linkTo(server!);
	const first = new Deferred();
	const jobs = await openJobs(
		nats,
		workOf(row => (row === 0 ? first.promise : Promise.resolve())),
	);
	const id = await submit(jobs, 4);
	await seen(jobs, id, ({running_items: running}) => running === 1);
	const link = await JetStreamLink.open(nats);
	await link.deleteConsumer(SUBJECTS.queueStream, `job-${id}`);
	link.close();
	first.resolve();
	expect(await seen(jobs, id, hasEnded)).toMatchObject({status: 'completed', completed_items: 4});
});

test('a reader goes on when a stream has lost its last messages, and gives their numbers to others', {
	...needs('nats-server'),
	timeout: 60_000,
}, async () => {
	const [server] = await runningNats();
	const nats = await linkTo(server!);
	const link = await JetStreamLink.open(nats);
	onTestFinished(() => link.close());
	await ensureJobStreams(link, SUBJECTS);
	const subject = SUBJECTS.result('job', 0);
	await link.publish(subject, 'one');
	// What the stream will hold instead of the messages that it loses.
	const before = await takeCopy(server!);
	await server!.start();
	for (const text of ['two', 'three']) await link.publish(subject, text);
	const instead = await takeCopy(server!);
	await startWith(server!, before);
	const texts = new Set<string>();
	const reader = new StreamReader({
		link,
		stream: SUBJECTS.resultStream,
		filter: SUBJECTS.result('job', '*'),
		onMessage: ({data}) => void texts.add(Buffer.from(data).toString()),
		onError: () => {},
	});
	onTestFinished(() => reader.close());
	for (const text of ['lost', 'lost as well']) await link.publish(subject, text);
	await eventually(() => texts.size === 3);
	await server!.kill();
	await startWith(server!, instead);
	await eventually(() => texts.has('two') && texts.has('three'));
	expect([...texts]).toEqual(['one', 'lost', 'lost as well', 'two', 'three']);
});

test('a lease can be taken although its stream was lost with the only broker', {
	...needs('nats-server'),
	timeout: 60_000,
}, async () => {
	const [server] = await runningNats();
	const nats = await linkTo(server!);
	const link = await JetStreamLink.open(nats);
	onTestFinished(() => link.close());
	await ensureJobStreams(link, SUBJECTS);
	await server!.kill();
	await server!.start();
	const {signal} = new AbortController();
	const first = new JobLease(link, SUBJECTS.lease('job'));
	expect(await first.take(signal)).toBe(true);
	expect(await link.listStreams('LA_JOB_LEASES')).toEqual(['LA_JOB_LEASES']);
	// It is written down again: another one has to wait.
	const other = new AbortController();
	const waiting = new JobLease(link, SUBJECTS.lease('job')).take(other.signal);
	expect(await Promise.race([waiting, new Promise(resolve => setTimeout(resolve, 1000, 'waits'))])).toBe('waits');
	other.abort();
	expect(await waiting).toBe(false);
	await first.release();
});
