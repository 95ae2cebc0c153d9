// covers: src/jobs/hub, src/jobs/nats
import {existsSync, mkdirSync, readdirSync, readlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {openNatsLink} from '../../src/hub/nats/nats-link.js';
import {loadJetStream} from '../../src/hub/nats/nats-modules.js';
import type {CommandSpec} from '../../src/jobs/command/command-spec.js';
import {CommandWorker} from '../../src/jobs/command/command-worker.js';
import {DirectoryJobs} from '../../src/jobs/hub/directory-jobs.js';
import {
	type HubJobs,
	type HubWork,
	MAX_ACTIVE_JOBS,
	type OpenWork,
	type SubmittedJob,
} from '../../src/jobs/hub/hub-jobs.js';
import {DEFAULT_RULES, type JobRules} from '../../src/jobs/job-description.js';
import {JetStreamJobs} from '../../src/jobs/nats/jet-stream-jobs.js';
import type {ListedJob} from '../../src/jobs/output/job-summary.js';
import {Deferred} from '../../src/shared/async/deferred.js';
import {silentLogger} from '../../src/shared/logger.js';
import {runningNats} from '../helpers/nats-servers.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

/** Runs commands on this machine, whatever executors the job names. */
const openHere: OpenWork = async ({job, directory, logs}) => {
	mkdirSync(directory, {recursive: true});
	const executors = job.executors.map(({name, slots}) => ({name, slots, environment: Environment.local(name)}));
	const worker = new CommandWorker({job, spec: (job.work as HubWork).command, directory, logs});
	return {
		worker,
		executors,
		async dispose() {
			await worker.dispose();
			await Promise.all(executors.map(({environment}) => environment.close()));
		},
	};
};

/** A place for jobs that outlives the hubs that use it. */
interface JobsHome {
	/** A hub; closed with the test. */
	open(openWork?: OpenWork): Promise<HubJobs>;
}

const HOMES: Record<string, () => Promise<JobsHome>> = {
	'a directory': async () => {
		const directory = scratchDirectory();
		return {
			open: async (openWork = openHere) =>
				closedWithTest(await DirectoryJobs.open({directory, openWork, logger: silentLogger, leaveMs: 100})),
		};
	},
	JetStream: async () => {
		const servers = (await runningNats()).map(({url}) => url);
		return {
			open: async (openWork = openHere) => {
				const nats = await openNatsLink({servers, name: 'test', logger: silentLogger});
				onTestFinished(() => nats.close());
				const directory = scratchDirectory();
				return closedWithTest(
					await JetStreamJobs.open({nats, directory, openWork, logger: silentLogger, leaveMs: 100}),
				);
			},
		};
	},
};

function closedWithTest<J extends HubJobs>(jobs: J): J {
	onTestFinished(() => jobs.close());
	return jobs;
}

function submission(line: string, rules: Partial<JobRules> = {}, spec: Partial<CommandSpec> = {}): SubmittedJob {
	return {
		inputName: 'rows.csv',
		inputFormat: 'csv',
		rules: {...DEFAULT_RULES, ...rules},
		work: {
			command: {kind: 'command', command: {line}, result: 'auto', stdin: 'row', logs: 'all', ...spec},
			owner: {token: 'aa', pattern: '*'},
		},
		executors: [{name: 'box', where: 'box', slots: 8}],
	};
}

async function* bytesOf(...texts: string[]): AsyncGenerator<Uint8Array, void, void> {
	for (const text of texts) yield Buffer.from(text);
}

function rows(count: number): string {
	return `n\n${Array.from({length: count}, (_, index) => `${index}\n`).join('')}`;
}

async function ended(jobs: HubJobs, jobId: string, tenant = 'default'): Promise<ListedJob> {
	return seen(jobs, jobId, ({status}) => !['pending', 'running'].includes(status), tenant);
}

/** The job as soon as it is so. */
async function seen(
	jobs: HubJobs,
	jobId: string,
	isSo: (listed: ListedJob) => boolean,
	tenant = 'default',
): Promise<ListedJob> {
	for (;;) {
		const listed = await jobs.find(tenant, jobId);
		if (listed && isSo(listed)) return listed;
		await new Promise(resolve => setTimeout(resolve, 20));
	}
}

async function items(jobs: HubJobs, jobId: string): Promise<Record<string, unknown>[]> {
	const found: Record<string, unknown>[] = [];
	for await (const line of (await jobs.readItems('default', jobId, 'jsonl'))!) {
		found.push(JSON.parse(line) as Record<string, unknown>);
	}
	return found;
}

/** Files of this process below a directory. */
function openFilesBelow(directory: string): string[] {
	const names = readdirSync('/proc/self/fd').flatMap(fd => {
		try {
			return [readlinkSync(`/proc/self/fd/${fd}`)];
		} catch {
			return [];
		}
	});
	return names.filter(name => name.startsWith(directory));
}

describe.each(Object.entries(HOMES))('in %s', (_name, openHome) => {
	test('a stored job whose schema cannot be used fails when it is opened, and others run', async () => {
		const home = await openHome();
		const first = await home.open(() => Promise.reject(new Error('not reachable yet')));
		const slow = Array.from({length: 3000}, (_, n) => [`p${n}`, {pattern: `[^\\p{L}${n}]`}]);
		const schemas = [{properties: Object.fromEntries(slow) as object}, {type: 'nothing'}];
		const bad = await Promise.all(
			schemas.map(schema => first.submit('default', submission('true', {schema}), bytesOf(rows(2)))),
		);
		const good = await first.submit('default', submission(`echo '{{}}'`), bytesOf(rows(2)));
		await first.close();
		const second = await home.open();
		expect(await ended(second, good)).toMatchObject({status: 'completed', completed_items: 2});
		for (const id of bad) {
			const listed = await ended(second, id);
			expect(listed).toMatchObject({status: 'failed', completed_items: 0});
			expect(listed.job_error).toContain('the schema');
		}
	});

	test('every row is done once, with its result and its output', async () => {
		const jobs = await (await openHome()).open();
		const job = submission(`printf '{{"n":%s}}' {n}; echo to-stderr {n} >&2`);
		const id = await jobs.submit('default', job, bytesOf(rows(20)));
		expect(await ended(jobs, id)).toMatchObject({status: 'completed', total_items: 20, completed_items: 20});
		const done = await items(jobs, id);
		expect(done.map(({result_json: result}) => result)).toEqual(
			Array.from({length: 20}, (_, index) => `{"n":${index}}`),
		);
		expect(done.every(({attempt_count: attempts}) => attempts === 1)).toBe(true);
		expect(await jobs.readLogs('default', id, 'row-7')).toEqual({
			item_id: 'row-7',
			attempt: 1,
			stdout: '{"n":6}',
			stderr: 'to-stderr 6\n',
		});
		expect(await jobs.readLogs('default', id, 'row-77')).toBeUndefined();
		const lines: string[] = [];
		for await (const line of (await jobs.readItems('default', id, 'csv'))!) lines.push(line);
		expect([lines.length, lines[0]!.startsWith('n,job_id,item_id')]).toEqual([21, true]);
	});

	test('a row that fails is tried as often as the rules say, and named', async () => {
		const jobs = await (await openHome()).open();
		const rules = {retries: 2, retryOn: ['exit']} as const;
		const line = `if test {n} != 1; then echo '{{}}'; else echo attempt $LONGARM_ATTEMPT >&2; exit 7; fi`;
		const id = await jobs.submit('default', submission(line, rules), bytesOf(rows(3)));
		const listed = await ended(jobs, id);
		expect(listed).toMatchObject({status: 'completed', completed_items: 2, failed_items: 1});
		expect(listed.failed_item_errors).toEqual([
			{item_id: 'row-2', source_id: null, last_error: 'worker exited with code 7: attempt 3'},
		]);
		const [, failed] = await items(jobs, id);
		expect(failed).toMatchObject({status: 'failed', attempt_count: 3, exit_code: 7});
		expect(await jobs.readLogs('default', id, 'row-2')).toMatchObject({attempt: 3, stderr: 'attempt 3\n'});
	});

	test('ids may hold anything, and belong to one item each', async () => {
		const jobs = await (await openHome()).open();
		const job = {...submission('echo {{}}'), idColumn: 'id'};
		const id = await jobs.submit('default', job, bytesOf('id\na.b *>\n"ü\n/../x"\na.b *>\n'));
		await ended(jobs, id);
		const done = await items(jobs, id);
		expect(done.map(({item_id: item}) => item)).toEqual(['a.b *>', 'ü\n/../x', 'a.b *>-2']);
	});

	test('rows that cannot be used leave no job behind', async () => {
		const jobs = await (await openHome()).open();
		const refused = [
			jobs.submit('default', submission('echo {n}'), bytesOf('n,m\n1\n')),
			jobs.submit('default', submission('echo {unknown}'), bytesOf(rows(2))),
			jobs.submit('default', {...submission('echo {n}'), idColumn: 'none'}, bytesOf(rows(2))),
		];
		const outcomes = await Promise.allSettled(refused);
		expect(outcomes.map(each => each.status)).toEqual(['rejected', 'rejected', 'rejected']);
		expect(outcomes.map(each => ((each as PromiseRejectedResult).reason as Error).name)).toEqual(
			Array(3).fill('JobInputError'),
		);
		expect(await jobs.list('default')).toEqual([]);
	});

	test('a job without rows is completed', async () => {
		const jobs = await (await openHome()).open();
		const id = await jobs.submit('default', submission('echo {n}'), bytesOf('n\n'));
		expect(await ended(jobs, id)).toMatchObject({status: 'completed', total_items: 0});
	});

	test('a tenant knows nothing of the jobs of another one', async () => {
		const jobs = await (await openHome()).open();
		const id = await jobs.submit('one', submission('echo {{}}'), bytesOf(rows(1)));
		await ended(jobs, id, 'one');
		await jobs.submit('other', submission('echo {{}}'), bytesOf(rows(1)));
		expect((await jobs.list('one')).map(({job_id: each}) => each)).toEqual([id]);
		expect((await jobs.list('other')).length).toBe(1);
		expect(await jobs.find('other', id)).toBeUndefined();
		expect(await jobs.readItems('other', id, 'csv')).toBeUndefined();
		expect(await jobs.readLogs('other', id, 'row-1')).toBeUndefined();
		expect(await jobs.cancel('other', id, {reason: 'no', drainMs: 0})).toBe(false);
	});

	test('a cancelled job lets running items finish for a while, and starts no more', async () => {
		const jobs = await (await openHome()).open();
		const directory = scratchDirectory();
		const go = join(directory, 'go');
		const line = `touch ${directory}/started-{n}; while ! test -e ${go}; do sleep 0.05; done; echo '{{}}'`;
		const id = await jobs.submit('default', submission(line, {maxConcurrency: 2}), bytesOf(rows(10)));
		await eventually(() => existsSync(join(directory, 'started-1')) && existsSync(join(directory, 'started-0')));
		expect(await jobs.cancel('default', id, {reason: 'not wanted', drainMs: 60_000})).toBe(true);
		writeFileSync(go, '');
		const listed = await ended(jobs, id);
		expect(listed).toMatchObject({
			status: 'cancelled',
			completed_items: 2,
			cancelled_items: 8,
			job_error: 'not wanted',
		});
		expect(existsSync(join(directory, 'started-2'))).toBe(false);
	});

	test('a worker may stop the job with its result', async () => {
		const jobs = await (await openHome()).open();
		const line = `touch "$LONGARM_REPORT_FILE-stop"; echo '{{"last":true}}' > "$LONGARM_REPORT_FILE"`;
		const id = await jobs.submit('default', submission(line, {maxConcurrency: 1}), bytesOf(rows(5)));
		expect(await ended(jobs, id)).toMatchObject({status: 'cancelled', completed_items: 1, cancelled_items: 4});
	});

	test('executors that are not there yet are waited for, and a job that waits can be cancelled', async () => {
		let isThere = false;
		const openLate: OpenWork = request => (isThere ? openHere(request) : Promise.reject(new Error('nobody is there')));
		const jobs = await (await openHome()).open(openLate);
		const [first, second] = [
			await jobs.submit('default', submission("echo '{{}}'"), bytesOf(rows(2))),
			await jobs.submit('default', submission("echo '{{}}'"), bytesOf(rows(2))),
		];
		await jobs.cancel('default', second, {reason: 'not wanted', drainMs: 0});
		expect(await ended(jobs, second)).toMatchObject({status: 'cancelled', cancelled_items: 2});
		isThere = true;
		expect(await ended(jobs, first)).toMatchObject({status: 'completed', completed_items: 2});
	});

	test('a hub that ends leaves its jobs, and the next one goes on with what is missing', async () => {
		const home = await openHome();
		const first = await home.open();
		const directory = scratchDirectory();
		const line = `echo x >> ${directory}/{n}; test {n} -lt 4 || while ! test -e ${directory}/go; do sleep 0.05; done; echo '{{}}'`;
		const id = await first.submit('default', submission(line, {maxConcurrency: 4}), bytesOf(rows(12)));
		await seen(first, id, ({completed_items: completed}) => completed === 4);
		// Those that hang are ended when the hub is.
		await first.close();
		writeFileSync(join(directory, 'go'), '');
		const second = await home.open();
		expect(await ended(second, id)).toMatchObject({status: 'completed', completed_items: 12});
		const done = await items(second, id);
		expect(done.slice(0, 4).map(({attempt_count: attempts}) => attempts)).toEqual([1, 1, 1, 1]);
		expect((await second.list('default')).map(({status}) => status)).toEqual(['completed']);
	});
});

test('endless jobs of one token leave room for others, and those that wait have no open files', async () => {
	const directory = scratchDirectory();
	const go = new Deferred();
	const openWork: OpenWork = async () => ({
		worker: {
			async run(attempt) {
				await go.promise;
				await attempt.report({});
				return {kind: 'reported'};
			},
		},
		executors: [{name: 'box', environment: Environment.local('box'), slots: 1}],
		dispose: async () => {},
	});
	const jobs = closedWithTest(await DirectoryJobs.open({directory, openWork, logger: silentLogger, leaveMs: 100}));
	const ids: string[] = [];
	for (let count = 0; count < MAX_ACTIVE_JOBS / 4 + 6; count++) {
		ids.push(await jobs.submit('default', submission('true'), bytesOf(rows(1))));
	}
	const waiting = ids.slice(-6);
	const isOpen = (id: string): boolean => openFilesBelow(join(directory, 'default', id)).length > 0;
	expect(waiting.filter(id => isOpen(id))).toEqual([]);
	expect((await jobs.find('default', waiting[0]!))?.status).toBe('pending');
	const job = submission('true');
	const owner = {token: 'bb', pattern: '*'};
	const colleague = await jobs.submit('default', {...job, work: {...job.work, owner}}, bytesOf(rows(1)));
	const stranger = await jobs.submit('other', job, bytesOf(rows(1)));
	await seen(jobs, colleague, ({running_items: running}) => running === 1);
	await seen(jobs, stranger, ({running_items: running}) => running === 1, 'other');
	go.resolve();
	for (const id of ids) expect((await ended(jobs, id)).status).toBe('completed');
});

test('items of a job that ends while they are read are read to the end', async () => {
	const directory = scratchDirectory();
	const jobs = closedWithTest(
		await DirectoryJobs.open({directory, openWork: openHere, logger: silentLogger, leaveMs: 100}),
	);
	const go = join(scratchDirectory(), 'go');
	// More than one read of the file brings.
	const input = `n,text\n${['0', '1', '2'].map(n => `${n},${n.repeat(200_000)}\n`).join('')}`;
	const line = `while ! test -e ${go}; do sleep 0.05; done; echo '{{}}'`;
	const id = await jobs.submit('default', submission(line, {}, {stdin: 'none'}), bytesOf(input));
	const [begun, waiting] = [
		(await jobs.readItems('default', id, 'jsonl'))![Symbol.asyncIterator](),
		(await jobs.readItems('default', id, 'jsonl'))!,
	];
	expect((await begun.next()).value).toContain('"item_id":"row-1"');
	writeFileSync(go, '');
	await ended(jobs, id);
	// Settles when nothing of the job runs any more.
	await jobs.close();
	expect([(await begun.next()).value, (await begun.next()).value, (await begun.next()).done]).toEqual([
		expect.stringContaining('"item_id":"row-2"'),
		expect.stringContaining('"item_id":"row-3"'),
		true,
	]);
	const lines: string[] = [];
	for await (const each of waiting) lines.push(each);
	expect(lines.map(each => (JSON.parse(each) as {status: string}).status)).toEqual(Array(3).fill('completed'));
	expect(openFilesBelow(directory)).toEqual([]);
});

test('a job that is refused leaves no rows in JetStream', async () => {
	const nats = await openNatsLink({
		servers: (await runningNats()).map(({url}) => url),
		name: 'test',
		logger: silentLogger,
	});
	onTestFinished(() => nats.close());
	const jobs = closedWithTest(
		await JetStreamJobs.open({
			nats,
			directory: scratchDirectory(),
			openWork: openHere,
			logger: silentLogger,
			leaveMs: 100,
		}),
	);
	const refused = jobs.submit('default', submission('echo {missing}'), bytesOf(rows(3)));
	await expect(refused).rejects.toThrow('{missing}, which is no column');
	const {jetstreamManager} = loadJetStream();
	const manager = await jetstreamManager(nats.connection);
	const inputs = (await manager.streams.list().next()).filter(({config}) => config.name.includes('INPUTS'));
	expect(inputs.map(({state}) => state.messages)).toEqual([0]);
});
