import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import type {JobSummary} from '../../src/jobs/output/job-summary.js';
import {Command, run} from '../helpers/command.js';
import {unless} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {startUpstreamServer} from '../helpers/transports.js';

const codex = process.env['CODEX_BIN'];

/** A job directory with three rows, and the options of a job on a stock server of its own. */
async function stockPlace() {
	const directory = scratchDirectory();
	const at = (name: string): string => join(directory, name);
	writeFileSync(at('in.csv'), 'n\n1\n2\n3\n');
	const url = await startUpstreamServer(codex!);
	const options = ['--output', at('out.csv'), '--job-dir', at('jobs'), '--executor', `there=${url}`];
	return {at, options};
}

function resultsIn(path: string): unknown[] {
	return readFileSync(path, 'utf8')
		.trimEnd()
		.split('\n')
		.map(line => JSON.parse((JSON.parse(line) as {result_json: string}).result_json) as unknown);
}

describe('fanout on the stock codex server', unless(codex ? undefined : 'CODEX_BIN names no stock codex'), () => {
	test.each([
		['standard output', `echo '{{"n": {n}}}'`],
		['a report file', `echo '{{"n": {n}}}' > "$LONGARM_REPORT_FILE"`],
		['the row on standard input, to its end', `sed 's/"\\([0-9]\\)"/\\1/'`],
	])('takes results from %s', async (_, line) => {
		const {at, options} = await stockPlace();
		const done = await run(['fanout', at('in.csv'), '--cmd', line, ...options, '--output', at('out.jsonl')]);
		const {failed_item_errors: errors, job_id: job} = JSON.parse(done.stdout) as JobSummary;
		expect([done.code, errors]).toEqual([0, null]);
		expect(resultsIn(at('out.jsonl'))).toEqual([{n: 1}, {n: 2}, {n: 3}]);
		expect(existsSync(`/tmp/longarm-fanout-${job}`)).toBe(false);
	});

	test('tells the exit code of a command that fails', async () => {
		const {at, options} = await stockPlace();
		const done = await run(['fanout', at('in.csv'), '--argv', '["sh","-c","exit {n}"]', ...options]);
		const {failed_item_errors: errors} = JSON.parse(done.stdout) as JobSummary;
		expect(done.code).toBe(2);
		expect(errors?.map(({last_error: error}) => error)).toEqual([1, 2, 3].map(n => `worker exited with code ${n}`));
	});

	test('follows commands whose runner was killed, under the same attempt', async () => {
		const {at, options} = await stockPlace();
		const line = `echo {n} >> ${at('starts')}; while ! [ -e ${at('go')} ]; do sleep 0.05; done; echo '{{"n": {n}}}'`;
		const runner = new Command([
			'fanout',
			at('in.csv'),
			'--cmd',
			`echo up >&2; ${line}`,
			'--progress',
			'jsonl',
			...options,
		]);
		await runner.until(() => runner.stderr.split('"item.output"').length === 4, 'three commands');
		runner.child.kill('SIGKILL');
		await runner.ended;
		const [job] = readdirSync(at('jobs')) as [string];
		const resumed = new Command(['fanout', 'resume', job, '--job-dir', at('jobs'), '--progress', 'jsonl']);
		await resumed.logs('"job.started"');
		writeFileSync(at('go'), '');
		const {code} = await resumed.ended;
		expect([code, (JSON.parse(resumed.stdout) as JobSummary).completed_items]).toEqual([0, 3]);
		expect(resumed.stderr).not.toContain('"item.requeued"');
		expect(readFileSync(at('starts'), 'utf8').trimEnd().split('\n').sort()).toEqual(['1', '2', '3']);
	});
});
