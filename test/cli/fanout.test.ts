import {readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import type {JobSummary} from '../../src/jobs/output/job-summary.js';
import {Command, type Finished, PROGRAM, run} from '../helpers/command.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {scratchDirectory} from '../helpers/scratch.js';

interface Place {
	readonly input: string;
	readonly output: string;
	readonly jobs: string;
	/** Options of every job here. */
	readonly options: readonly string[];
}

function place(text = 'n\n1\n2\n3\n'): Place {
	const directory = scratchDirectory();
	const input = join(directory, 'in.csv');
	writeFileSync(input, text);
	const [output, jobs] = [join(directory, 'out.csv'), join(directory, 'jobs')];
	return {input, output, jobs, options: ['--output', output, '--job-dir', jobs]};
}

function summaryOf({stdout}: Pick<Finished, 'stdout'>): JobSummary {
	return JSON.parse(stdout) as JobSummary;
}

const REPORT = `'${process.execPath}' '${PROGRAM}' report`;

test('a command for every row, with the results in the output and the summary on stdout', async () => {
	const {input, output, options} = place();
	const done = await run(['fanout', input, '--cmd', `echo '{{"twice": '$((2 * {n}))'}}'`, ...options]);
	expect(done).toMatchObject({code: 0, stderr: ''});
	expect(summaryOf(done)).toMatchObject({status: 'completed', completed_items: 3});
	expect(readFileSync(output, 'utf8')).toContain('3,"{""twice"":6}"'.slice(2));
});

test('the text of a row is never code, and a command in which it would be is refused', async () => {
	const names = ['"; touch ran; "', '$(touch ran)', '\nEOF\ntouch ran\n', 'PATH=/nowhere'];
	const text = ['name', ...names.map(name => `"${name.replaceAll('"', '""')}"`), ''].join('\n');
	const {input, output, jobs, options} = place(text);
	const line = `cd ${jobs} && printf '%s' "<{name}>" '<{name}>' {name}\ncat <<EOF\n<{name}>\nEOF`;
	const done = await run(['fanout', input, '--cmd', line, ...options]);
	expect(done.code).toBe(0);
	expect(readdirSync(jobs)).not.toContain('ran');
	const lines = `${output}.jsonl`;
	await run(['fanout', 'export', summaryOf(done).job_id, '--output', lines, '--job-dir', jobs]);
	const rows = readFileSync(lines, 'utf8').trimEnd().split('\n');
	expect(rows.map(row => JSON.parse((JSON.parse(row) as {result_json: string}).result_json) as unknown)).toEqual(
		names.map(name => ({exit_code: 0, stdout: `<${name}><${name}>${name}<${name}>\n`})),
	);
	const refused = await run(['fanout', input, '--cmd', 'sh -c "echo {name}"', ...options]);
	expect(refused).toMatchObject({code: 64});
	expect(refused.stderr).toContain('{name} stands in the code for sh');
});

test('the exit code tells failed items, a cancelled job and a wrong command line apart', async () => {
	const {input, options} = place();
	const failed = await run(['fanout', input, '--argv', '["sh","-c","exit {n}"]', ...options]);
	expect(failed.code).toBe(2);
	expect(summaryOf(failed).failed_item_errors?.[0]).toMatchObject({
		item_id: 'row-1',
		last_error: 'worker exited with code 1',
	});
	expect(
		(await run(['fanout', input, '--cmd', 'exit 1', '--fail-fast', '--max-concurrency', '1', ...options])).code,
	).toBe(3);
	for (const wrong of [
		['--cmd', 'echo {missing}'],
		['--cmd', 'true', '--argv', '["true"]'],
		['--cmd', 'true', '--max-concurrency', '65'],
		['--cmd', 'true', '--max-runtime', '0'],
		['--cmd', 'true', '--model', 'x'],
		['--cmd', 'true', '--executor', 'nowhere'],
		['--cmd', 'true', '--executor', 'box=ws://user:secret@127.0.0.1:4500'],
		['--argv', 'true'],
		[],
	]) {
		const {code, stderr} = await run(['fanout', input, ...wrong, ...options]);
		expect([wrong, code]).toEqual([wrong, 64]);
		expect(stderr).toMatch(/^error: /);
	}
});

test('an exit code of 0 is success, whatever was printed, unless there is a schema or a result is asked for', async () => {
	const {input, output, options} = place('host\na\nb\n');
	for (const command of [
		['--cmd', 'echo {host}'],
		['--argv', '["echo","{host}"]'],
		['--cmd', 'true; echo 7'],
	]) {
		const done = await run(['fanout', input, ...command, ...options]);
		expect([done.code, summaryOf(done)]).toMatchObject([0, {completed_items: 2, failed_items: 0}]);
	}
	const plain = await run(['fanout', input, '--cmd', 'echo {host}', ...options]);
	expect(plain.code).toBe(0);
	expect(readFileSync(output, 'utf8')).toContain('"{""exit_code"":0,""stdout"":""a\\n""}"');
	const schema = join(scratchDirectory(), 'schema.json');
	writeFileSync(schema, '{}');
	for (const wanted of [
		['--schema', schema],
		['--result', 'report'],
		['--result', 'auto'],
		['--result', 'stdout'],
	]) {
		const done = await run(['fanout', input, '--cmd', 'echo {host}', ...wanted, ...options]);
		expect([wanted, done.code, summaryOf(done).failed_items]).toEqual([wanted, 2, 2]);
	}
});

test('on a terminal progress and summary are for people, and after Ctrl-C the command that goes on is shown', async () => {
	const {input, jobs, options} = place();
	const flag = join(scratchDirectory(), 'go');
	const line = `[ {n} = 1 ] || [ -e ${flag} ] || exec sleep 1000`;
	const terminal = await OnTerminal.longarm('fanout', input, '--cmd', line, '--drain-timeout', '0', ...options);
	await terminal.shows('1 of 3 done, 2 running');
	await terminal.type('\u0003');
	await terminal.shows('cancelled: 1 of 3 done, 2 not done');
	const [job] = readdirSync(jobs) as [string];
	await terminal.shows(`go on with: longarm fanout resume ${job.slice(0, 8)} --job-dir ${jobs}`);
	expect(await terminal.ended).toMatchObject({exitCode: 3});
	expect(terminal.text).not.toContain('"job_id"');
	expect((await run(['fanout', 'list', '--job-dir', jobs])).stdout).toContain('1/3 done, 0 failed, 2 cancelled');
	const listed: unknown = JSON.parse((await run(['fanout', 'list', '--json', '--job-dir', jobs])).stdout);
	expect(listed).toMatchObject([{completed_items: 1, cancelled_items: 2, pending_items: 0, running_items: 0}]);
	writeFileSync(flag, '');
	const resumed = await OnTerminal.longarm('fanout', 'resume', job.slice(0, 8), '--job-dir', jobs);
	await resumed.shows('completed: 3 of 3 done');
	expect(await resumed.ended).toMatchObject({exitCode: 0});
	const asJson = await OnTerminal.longarm('fanout', 'resume', job.slice(0, 8), '--json', '--job-dir', jobs);
	await asJson.shows('{"job_id":');
});

test('failed items are shown on a terminal with the reason and the command that tries them again', async () => {
	const {input, options} = place();
	const terminal = await OnTerminal.longarm('fanout', input, '--cmd', 'echo why >&2; exit {n}', ...options);
	await terminal.shows('completed: 0 of 3 done, 3 failed');
	await terminal.shows('row-2: worker exited with code 2: why');
	await terminal.shows('--retry-failed');
	expect(await terminal.ended).toMatchObject({exitCode: 2});
});

test('a report is answered at once, a wrong one can be corrected, and the command is ended then', async () => {
	const {input, output, options} = place('n\n1\n');
	const schema = join(scratchDirectory(), 'schema.json');
	writeFileSync(schema, '{"required": ["n"]}');
	const line = `${REPORT} '{{}}'; ${REPORT} '{{"n": 1}}'; ${REPORT} '{{"n": 2}}'; exec sleep 1000`;
	const done = await run(['fanout', input, '--cmd', line, '--schema', schema, ...options]);
	expect(done.code).toBe(0);
	expect(readFileSync(output, 'utf8')).toContain('"{""n"":1}"');
});

test('a report with --stop ends the job, with a runner that cannot be reached as well', async () => {
	const {input, options} = place();
	for (const prefix of ['', 'unset LONGARM_REPORT_URL; ']) {
		const line = `${prefix}echo '{{"n": {n}}}' | ${REPORT} - --stop`;
		const done = await run(['fanout', input, '--cmd', line, '--max-concurrency', '1', ...options]);
		expect(done.code).toBe(3);
		expect(summaryOf(done)).toMatchObject({completed_items: 1, job_error: 'cancelled by worker request'});
	}
});

test('Ctrl-C cancels a job, resume goes on with it, and status, list and export tell of it', async () => {
	const {input, output, jobs, options} = place();
	const flag = join(scratchDirectory(), 'go');
	const line = `[ -e ${flag} ] || exec sleep 1000; echo '{{"n": {n}}}'`;
	const runner = new Command([
		'fanout',
		input,
		'--cmd',
		line,
		'--progress',
		'jsonl',
		'--drain-timeout',
		'0',
		...options,
	]);
	await runner.until(() => runner.stderr.split('"item.started"').length === 4, 'three started items');
	runner.child.kill('SIGINT');
	expect((await runner.ended).code).toBe(3);
	expect(summaryOf(runner)).toMatchObject({status: 'cancelled', cancelled_items: 3});
	const [job] = readdirSync(jobs) as [string];
	expect((await run(['fanout', 'status', job.slice(0, 8), '--job-dir', jobs])).stdout).toContain('0/3 done');
	expect((await run(['fanout', 'list', '--job-dir', jobs])).stdout).toMatch(/^[0-9a-f]{8} {2}cancelled/);
	writeFileSync(flag, '');
	const resumed = await run(['fanout', 'resume', job.slice(0, 8), '--job-dir', jobs]);
	expect(resumed.code).toBe(0);
	expect(summaryOf(resumed)).toMatchObject({status: 'completed', completed_items: 3});
	const lines = join(scratchDirectory(), 'out.jsonl');
	expect((await run(['fanout', 'export', job, '--output', lines, '--job-dir', jobs])).stdout.trim()).toBe(lines);
	expect(JSON.parse(readFileSync(lines, 'utf8').split('\n')[1]!)).toMatchObject({
		n: '2',
		result_json: '{"n":2}',
		attempt_count: 2,
	});
	writeFileSync(input, 'n\n4\n');
	expect((await run(['fanout', 'resume', job, '--job-dir', jobs])).stderr).toContain('has changed since');
	expect(readFileSync(output, 'utf8').split('\n')).toHaveLength(5);
});

test('another program can cancel a job, and a second runner is refused', async () => {
	const {input, jobs, options} = place();
	const runner = new Command(['fanout', input, '--cmd', 'exec sleep 1000', '--progress', 'jsonl', ...options]);
	await runner.logs('"item.started"');
	const [job] = readdirSync(jobs) as [string];
	expect(await run(['fanout', 'resume', job, '--job-dir', jobs])).toMatchObject({code: 4});
	expect((await run(['fanout', 'cancel', job, '--drain-timeout', '0', '--job-dir', jobs])).code).toBe(0);
	expect((await runner.ended).code).toBe(3);
	expect(summaryOf(runner)).toMatchObject({status: 'cancelled', job_error: 'cancelled by user'});
});

test.each(['local', 'server'])(
	'a runner that is killed again and again loses and repeats nothing (%s)',
	async where => {
		const {input, output, jobs, options} = place(`n\n${Array.from({length: 30}, (_, n) => `${n}\n`).join('')}`);
		const server = where === 'server' ? new Command(['serve', '--listen', 'ws://127.0.0.1:0']) : undefined;
		const executor = server ? ['--executor', `there=${await server.url()}`] : [];
		const line = `sleep 0.1; echo '{{"n": {n}}}'`;
		let args = ['fanout', input, '--cmd', line, '--max-concurrency', '4', ...executor, ...options];
		for (let kills = 0; kills < 5; kills++) {
			const runner = new Command([...args, '--progress', 'jsonl']);
			const countDone = (): number => runner.stderr.split('"item.completed"').length - 1;
			await Promise.race([runner.until(() => countDone() >= 1 + (kills % 3), 'items'), runner.ended]);
			runner.child.kill('SIGKILL');
			await runner.ended;
			args = ['fanout', 'resume', readdirSync(jobs)[0]!, '--job-dir', jobs];
		}
		const done = await run(args);
		expect([done.code, done.stderr, summaryOf(done).failed_item_errors]).toEqual([0, '', null]);
		const journal = readFileSync(join(jobs, readdirSync(jobs)[0]!, 'journal.jsonl'), 'utf8')
			.trimEnd()
			.split('\n');
		const reports = journal
			.map(text => JSON.parse(text) as {type: string; item: number})
			.filter(({type}) => type === 'report');
		expect(reports.map(({item}) => item).sort((one, other) => one - other)).toEqual(
			Array.from({length: 30}, (_, n) => n),
		);
		expect(readFileSync(output, 'utf8').trimEnd().split('\n')).toHaveLength(31);
	},
);

test('items of a server that was killed are done by the one that takes its place', async () => {
	const {input, options} = place('n\n1\n');
	const socket = `unix:${join(scratchDirectory(), 'socket')}`;
	const flag = join(scratchDirectory(), 'flag');
	const first = new Command(['serve', '--listen', socket]);
	await first.url();
	const line = `[ -e ${flag} ] && {{ echo '{{"n": 2}}'; exit; }}; touch ${flag}; echo started >&2; exec sleep 1000`;
	const runner = new Command([
		'fanout',
		input,
		'--cmd',
		line,
		'--executor',
		`there=${socket}`,
		'--progress',
		'jsonl',
		...options,
	]);
	await runner.logs('"item.output"');
	first.child.kill('SIGKILL');
	await first.ended;
	await new Command(['serve', '--listen', socket]).url();
	expect((await runner.ended).code).toBe(0);
	expect(runner.stderr).toContain('"kind":"lost"');
	expect(summaryOf(runner)).toMatchObject({completed_items: 1});
});
