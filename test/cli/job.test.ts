// covers: src/cli/commands/job, src/cli/commands/hub
import {execFile} from 'node:child_process';
import {once} from 'node:events';
import {copyFileSync, existsSync, readFileSync, realpathSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {basename, dirname, join} from 'node:path';
import {text as readText} from 'node:stream/consumers';
import {expect, onTestFinished, test} from 'vitest';
import {Authority} from '../helpers/certificates.js';
import {Command, type Finished, PROGRAM, run} from '../helpers/command.js';
import {needs} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {fileWith} from '../helpers/tokens.js';

interface Place {
	/** `longarm job ...` with the hub and its token. */
	readonly job: (...args: readonly string[]) => Promise<Finished>;
	readonly directory: string;
	readonly rows: string;
	readonly env: Record<string, string>;
	/** Kills the hub with SIGKILL and starts it again. */
	readonly restart: () => Promise<void>;
}

/** A hub that takes jobs, and a machine called box behind it. */
async function hubWithBox(): Promise<Place> {
	const directory = scratchDirectory();
	const state = {XDG_STATE_HOME: directory};
	const start = async (listen: string): Promise<Command> => {
		const started = new Command(['hub', '--listen', listen, '--jobs', '--log-format', 'json'], {env: state});
		await started.logs('"jobs are on');
		return started;
	};
	const hub = await start('http://127.0.0.1:0');
	const url = await hub.url();
	const token = async (kind: string): Promise<string> => {
		const {stdout} = await run(['hub', 'token', 'create', kind, '*'], state);
		return stdout.trim();
	};
	const executor = fileWith(await token('executor'));
	const args = [
		'serve',
		'--remote',
		url,
		'--environment-id',
		'box',
		'--token-file',
		executor,
		'--slots',
		'8',
		'--log-format',
		'json',
	];
	const box = new Command(args, {env: {XDG_STATE_HOME: scratchDirectory()}});
	await box.logs('"online"');
	const env = {...state, LONGARM_HUB: url, LONGARM_EXEC_SERVER_TOKEN: await token('client')};
	const rows = join(directory, 'rows.csv');
	writeFileSync(rows, 'n\n1\n2\n3\n');
	const restart = async (): Promise<void> => {
		hub.child.kill('SIGKILL');
		await hub.ended;
		await start(url);
	};
	return {job: (...words) => run(['job', ...words], env), directory, rows, env, restart};
}

/** The exit code, and whether stderr holds the text. */
function failureOf({code, stderr}: Finished, text: string): [number | null, string] {
	return [code, stderr.includes(text) ? text : stderr];
}

test('a job is submitted, followed, looked at, exported and listed', async () => {
	const {job, directory, rows} = await hubWithBox();
	const output = join(directory, 'out.csv');
	const line = `test {n} -lt 3 || {{ echo no >&2; exit 5; }}; echo '{{"n":{n}}}'`;
	const followed = await job(
		'submit',
		rows,
		'--cmd',
		line,
		'--executor',
		'box,slots=2',
		'--follow',
		'--output',
		output,
	);
	expect([followed.code, followed.stderr.includes('is on its way')]).toEqual([2, true]);
	const summary = JSON.parse(followed.stdout) as Record<string, unknown>;
	expect(summary).toMatchObject({status: 'completed', completed_items: 2, failed_items: 1, output_csv_path: output});
	expect(readFileSync(output, 'utf8').split('\n')[1]).toContain('"{""n"":1}"');
	const id = String(summary['job_id']);
	const status = await job('status', id.slice(0, 6));
	expect(status.code).toBe(0);
	expect(status.stdout).toContain('row-3: worker exited with code 5: no');
	expect(await job('logs', id, 'row-3')).toMatchObject({code: 0, stdout: '', stderr: 'no\n'});
	expect(JSON.parse((await job('logs', id, 'row-1', '--json')).stdout)).toMatchObject({stdout: '{"n":1}\n'});
	const exported = join(directory, 'out.jsonl');
	expect((await job('export', id, '--output', exported)).stdout).toBe(`${exported}\n`);
	expect(readFileSync(exported, 'utf8').trim().split('\n').length).toBe(3);
	expect((await job('list')).stdout).toContain(`${id.slice(0, 8)}  completed`);
	expect(JSON.parse((await job('list', '--json')).stdout)).toMatchObject([{job_id: id}]);
	expect((await job('status', id, '--follow')).code).toBe(2);
});

test('a job goes on without its client, and is cancelled from elsewhere', async () => {
	const {job, directory, rows} = await hubWithBox();
	const started = join(directory, 'started');
	const line = `touch ${started}; while true; do sleep 0.1; done`;
	const submitted = await job('submit', rows, '--cmd', line, '--executor', 'box', '--max-concurrency', '1');
	const id = submitted.stdout.trim();
	await eventually(() => existsSync(started));
	expect(JSON.parse((await job('status', id, '--json')).stdout)).toMatchObject({status: 'running', running_items: 1});
	expect(await job('cancel', id, '--drain-timeout', '0s')).toMatchObject({code: 0});
	expect((await job('status', id, '--follow')).code).toBe(3);
});

test('a hub that was killed goes on with its jobs, and a client that follows one notices nothing', async () => {
	const {job, directory, rows, restart} = await hubWithBox();
	const line = `echo x >> ${directory}/ran-{n}; while ! test -e ${directory}/go; do sleep 0.1; done; echo '{{}}'`;
	const followed = job('submit', rows, '--cmd', line, '--executor', 'box', '--follow');
	await eventually(() => existsSync(join(directory, 'ran-3')));
	await restart();
	writeFileSync(join(directory, 'go'), '');
	const {code, stdout} = await followed;
	expect([code, JSON.parse(stdout)]).toMatchObject([0, {status: 'completed', completed_items: 3}]);
});

test('mistakes are told before anything is sent, or by the hub, with exit code 64', async () => {
	const {job, rows, env} = await hubWithBox();
	const wrong: [string[], string][] = [
		[['submit', rows, '--executor', 'box'], '--cmd, --argv and --agent'],
		[['submit', rows, '--cmd', 'true'], 'say where with --executor'],
		[['submit', rows, '--cmd', 'true', '--executor', 'nowhere'], 'knows no executor nowhere'],
		[['submit', rows, '--cmd', 'echo {m}', '--executor', 'box'], '{m}, which is no column'],
		[['submit', rows, '--cmd', 'true', '--executor', 'box', '--output', 'x'], '--output goes with --follow'],
		[['submit', '/none.csv', '--cmd', 'true', '--executor', 'box'], 'failed to read csv input'],
	];
	for (const [args, text] of wrong) {
		expect(failureOf(await job(...args), text)).toEqual([64, text]);
	}
	expect(failureOf(await job('status', 'ffffffff'), 'has no job')).toEqual([4, 'has no job']);
	const {LONGARM_HUB: _, ...without} = env;
	expect(failureOf(await run(['job', 'list'], without), '--hub URL')).toEqual([64, '--hub URL']);
	const stranger = {...env, LONGARM_EXEC_SERVER_TOKEN: 'wrong'};
	expect(failureOf(await run(['job', 'list'], stranger), '401')).toEqual([4, '401']);
});

test('a hub is named by an environment behind it, whose token is used, by every command about jobs', async () => {
	const {rows, env} = await hubWithBox();
	const {LONGARM_HUB: url, LONGARM_EXEC_SERVER_TOKEN: token, ...state} = env;
	const user = {...state, LONGARM_HOME: scratchDirectory()};
	const file = fileWith(token!);
	expect(await run(['env', 'add', 'lab', `registry+${url}/box`, '--token-file', file], user)).toMatchObject({code: 0});
	const job = (...words: string[]): Promise<Finished> => run(['job', ...words, '--hub', 'lab'], user);
	const submitted = await job('submit', rows, '--cmd', 'echo {n}', '--executor', 'box', '--follow', '--json');
	expect([submitted.code, JSON.parse(submitted.stdout)]).toMatchObject([0, {completed_items: 3}]);
	const {job_id: id} = JSON.parse(submitted.stdout) as {job_id: string};
	expect(await job('status', id.slice(0, 8))).toMatchObject({code: 0});
	expect(await job('logs', id, 'row-2')).toMatchObject({code: 0, stdout: '2\n'});
	expect(await job('export', id, '--output', join(scratchDirectory(), 'out.csv'))).toMatchObject({code: 0});
	expect(await job('cancel', id)).toMatchObject({code: 0});
	expect((await job('list')).stdout).toContain(id.slice(0, 8));
	expect((await run(['job', 'list'], {...user, LONGARM_HUB: 'lab'})).stdout).toContain(id.slice(0, 8));
	const missing = await job('logs', id, 'row-99');
	expect(missing.code).toBe(4);
	expect(missing.stderr).toMatch(/^error: .*\nhint: longarm job export writes the ids of all items\. .*\n$/);
	const unknown = await job('status', 'ffffffff');
	expect(unknown.stderr).toMatch(/\nhint: longarm job list shows the jobs of the hub\.\n$/);
	const wrong = await run(['job', 'list', '--hub', 'lba'], user);
	expect([wrong.code, wrong.stderr]).toEqual([64, expect.stringContaining('did you mean `lab`?')]);
});

test('the default name of an export is in the present directory, whatever the hub says', async () => {
	const directory = scratchDirectory();
	const id = '1f0c2d3e-0000-4000-8000-000000000000';
	let [inputPath, listedId] = ['', id];
	const hub = createServer((request, response) => {
		const items = request.url?.includes('/items') === true;
		const job = {job_id: listedId, input_path: inputPath};
		response.end(items ? 'n\n' : JSON.stringify(request.url === '/jobs' ? {jobs: [job]} : job));
	});
	await new Promise<void>(resolve => hub.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => void hub.close());
	const env = {LONGARM_HUB: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`, LONGARM_EXEC_SERVER_TOKEN: 't'};
	const exportHere = async (job: string) => {
		const options = {cwd: directory, env: {...process.env, ...env}};
		const child = execFile(process.execPath, [PROGRAM, 'job', 'export', job], options);
		const [stdout] = await Promise.all([readText(child.stdout!), once(child, 'exit')]);
		return {code: child.exitCode, stdout};
	};
	const names = [
		'/etc/cron.d/x.csv',
		'../../up.csv',
		'..',
		'.bashrc',
		'\u001b[2J.csv',
		'a/b\\c.csv',
		'',
		`${'n'.repeat(5000)}.csv`,
	];
	for (const name of names) {
		inputPath = name;
		const exported = await exportHere(id);
		expect([exported.code, dirname(exported.stdout.trim())]).toEqual([0, realpathSync(directory)]);
		expect(basename(exported.stdout.trim())).toMatch(/^\w[\w.-]*\.job-1f0c2d3e\.csv$/);
	}
	listedId = '1f0c/../../../../tmp/x';
	expect((await exportHere('1f0c')).code).toBe(4);
});

test('a job that begins after the certificate of its hub was renewed is done', needs('openssl'), async () => {
	const authority = new Authority();
	const directory = scratchDirectory();
	const [cert, key, ca] = ['cert.pem', 'key.pem', 'ca.pem'].map(name => join(directory, name)) as [
		string,
		string,
		string,
	];
	const put = (name: string): void => {
		const issued = authority.issue(name);
		copyFileSync(issued.certPath, cert);
		copyFileSync(issued.keyPath, key);
	};
	put('first');
	writeFileSync(ca, authority.ca);
	const state = {XDG_STATE_HOME: directory};
	const listen = ['--listen', 'https://127.0.0.1:0', '--tls-cert', cert, '--tls-key', key];
	const hub = new Command(['hub', ...listen, '--jobs', '--log-format', 'json'], {env: state});
	await hub.logs('"jobs are on');
	const url = await hub.url();
	const token = async (kind: string) =>
		fileWith((await run(['hub', 'token', 'create', kind, '*'], state)).stdout.trim());
	const remote = [
		'--remote',
		url,
		'--remote-ca-file',
		ca,
		'--environment-id',
		'box',
		'--token-file',
		await token('executor'),
	];
	const box = new Command(['serve', ...remote, '--log-format', 'json'], {env: {XDG_STATE_HOME: scratchDirectory()}});
	await box.logs('"online"');
	// Files that are newer than what is served must not count.
	put('second');
	const rows = join(directory, 'rows.csv');
	writeFileSync(rows, 'n\n1\n2\n');
	const access = ['--hub', url, '--token-file', await token('client'), '--ca-file', ca];
	const submit = () => run(['job', 'submit', rows, '--cmd', 'true', '--executor', 'box', '--follow', ...access], state);
	expect((await submit()).code).toBe(0);
	hub.child.kill('SIGHUP');
	await hub.logs('"reloaded"');
	expect((await submit()).code).toBe(0);
});
