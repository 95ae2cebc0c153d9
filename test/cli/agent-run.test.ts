import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, type Finished, run} from '../helpers/command.js';
import {
	calls,
	completed,
	type ModelCall,
	type SeedOptions,
	type SeedStats,
	says,
	scriptedModel,
	seedResponder,
} from '../helpers/model-endpoints.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const KEY = 'sk-test-0123456789';
const ENV = {MODEL_KEY: KEY, SAME_KEY: KEY};

function agentArgs(baseUrl: string, ...more: readonly string[]): string[] {
	const model = ['--base-url', baseUrl, '--api-key-env', 'MODEL_KEY', '--model', 'gpt-5'];
	return ['agent', 'run', ...model, '--job-dir', join(scratchDirectory(), 'jobs'), ...more];
}

interface Scenario extends Finished {
	readonly stats: SeedStats;
	readonly lines: readonly string[];
}

/** One hundred rows, 64 workers at a time, all over the built command. */
async function hundredRows(more: readonly string[], seed: SeedOptions = {}): Promise<Scenario> {
	const directory = scratchDirectory();
	const [csv, output] = [join(directory, 'in.csv'), join(directory, 'out.csv')];
	const rows = Array.from({length: 100}, (_, index) => `cat_${index + 1}\n`);
	writeFileSync(csv, `name\n${rows.join('')}`);
	const spawnArgs = {csv_path: csv, instruction: 'About {name}.', output_csv_path: output, max_concurrency: 64};
	const {baseUrl, stats} = await seedResponder({spawnArgs, ...seed});
	const ended = await run(agentArgs(baseUrl, ...more, 'go'), ENV);
	return {...ended, stats, lines: existsSync(output) ? readFileSync(output, 'utf8').trimEnd().split('\n') : []};
}

async function served(): Promise<string> {
	return new Command(['serve', '--listen', 'ws://127.0.0.1:0']).url();
}

test('one hundred rows with 64 workers end with 101 lines and exit code 0', async () => {
	const {code, lines, stats, stderr} = await hundredRows([]);
	expect({code, stderr}).toMatchObject({code: 0, stderr: expect.stringContaining('100/100 100% f0 r0 p0') as string});
	expect(lines).toHaveLength(101);
	expect(lines.slice(1).every(line => line.includes(',completed,1,,'))).toBe(true);
	expect(stats).toMatchObject({main: 1, worker: 100, toolOutput: 1, fallback: 0});
	expect(JSON.parse(stats.outputs[0]!)).toMatchObject({status: 'completed', completed_items: 100, failed_items: 0});
});

test('the same works on two servers, with the files on one of them, and all workers are in flight at once', async () => {
	const [one, other] = await Promise.all([served(), served()]);
	const more = ['-e', one, '--executor', one, '--executor', other];
	const {code, lines, stats} = await hundredRows(more, {holdWorkers: 64});
	expect({code, lines: lines.length, workers: stats.worker}).toEqual({code: 0, lines: 101, workers: 100});
	expect(stats.maxInflight).toBeGreaterThanOrEqual(64);
});

test('rows that fail do not make the command fail, and workers whose turns fail do not end it', async () => {
	const {code, lines, stdout} = await hundredRows(['--json'], {mode: 'silent'});
	expect({code, lines: lines.length}).toEqual({code: 0, lines: 101});
	const told = stdout
		.trimEnd()
		.split('\n')
		.map(line => JSON.parse(line) as {method: string; params: {threadId?: string}});
	const ends = told.filter(({method}) => method === 'turn/completed').map(({params}) => params.threadId);
	const main = told.find(({method}) => method === 'turn/started')!.params.threadId;
	expect(ends).toHaveLength(101);
	expect(ends.indexOf(main)).toBe(100);
	expect(told.findLast(({method}) => method === 'fanout/progress')!.params).toMatchObject({
		completed_items: 66,
		failed_items: 34,
	});
});

test('the last message of the agent is its output, and its commands run in the directory that is given', async () => {
	const directory = scratchDirectory();
	const model = await scriptedModel(
		[says('let me look'), calls('exec_command', {cmd: 'pwd'}), completed()],
		[says('It is\u001b[31m here.'), completed()],
	);
	const {code, stdout, stderr} = await run(agentArgs(model.baseUrl, '--cwd', directory, 'where?'), ENV);
	expect({code, stdout}).toEqual({code: 0, stdout: 'It is\\x1b[31m here.\n'});
	expect(stderr).toContain('exec_command {"cmd":"pwd"}');
	expect(JSON.stringify(model.calls[1]!.body.input)).toContain(directory);
	const tools = (model.calls[0] as ModelCall).body['tools'] as {name: string}[];
	expect(tools.map(({name}) => name)).toEqual(['exec_command', 'write_stdin', 'spawn_agents_on_csv']);
});

test('commands see the key neither in their variables nor in the program that started them', async () => {
	const cmd = 'env; cat /proc/$PPID/environ 2>&1; tr "\\0" " " < /proc/$PPID/cmdline';
	const model = await scriptedModel([calls('exec_command', {cmd, login: false}), completed()], [completed()]);
	const {code, stdout, stderr} = await run(agentArgs(model.baseUrl, 'look around'), ENV);
	expect(code).toBe(0);
	expect(model.calls[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
	const output = JSON.stringify(model.calls[1]!.body.input);
	expect(output).toContain('NO_COLOR=1');
	expect(output).not.toContain(KEY);
	expect(stdout + stderr).not.toContain(KEY);
});

test('a turn that fails is exit code 1, and the reason is told', async () => {
	const model = await scriptedModel(response => {
		response.writeHead(401).end(JSON.stringify({error: {message: `the key ${KEY} is wrong`}}));
		return undefined;
	});
	const {code, stderr} = await run(agentArgs(model.baseUrl, 'go'), ENV);
	expect(code).toBe(1);
	expect(stderr).toContain('error: the model endpoint answered 401 Unauthorized: the key [key] is wrong');
});

test('an interrupt ends workers and commands, and is exit code 130', async () => {
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'in.csv'), 'name\na\nb\n');
	const spawnArgs = {
		csv_path: join(directory, 'in.csv'),
		instruction: 'x',
		output_csv_path: join(directory, 'out.csv'),
	};
	const {baseUrl, stats} = await seedResponder({spawnArgs, delayMs: 3_600_000});
	const command = new Command(agentArgs(baseUrl, 'go'), {env: ENV});
	await eventually(() => stats.worker === 2);
	command.child.kill('SIGINT');
	expect(await command.ended).toEqual({code: 130, signal: null});
	expect(readFileSync(join(directory, 'out.csv'), 'utf8').match(/,pending,/g)).toHaveLength(2);
});

test('fanout --agent gives each row to a worker, and refuses a model that cannot be used before there is a job', async () => {
	const directory = scratchDirectory();
	const [csv, output, jobs] = [join(directory, 'in.csv'), join(directory, 'out.csv'), join(directory, 'jobs')];
	writeFileSync(csv, 'name\na\nb\nc\n');
	const {baseUrl, stats} = await seedResponder();
	const job = ['fanout', csv, '--agent', '--instruction', 'About {name}.', '--output', output, '--job-dir', jobs];
	const model = ['--base-url', baseUrl, '--model', 'gpt-5'];
	const args = (key: string) => [...job, ...model, '--api-key-env', key];
	const refused = await run(args('NO_SUCH_KEY'), ENV);
	expect({code: refused.code, isThere: existsSync(jobs)}).toEqual({code: 64, isThere: false});
	const {code, stdout} = await run(args('MODEL_KEY'), ENV);
	expect(code).toBe(0);
	expect(JSON.parse(stdout)).toMatchObject({status: 'completed', completed_items: 3});
	expect(readFileSync(output, 'utf8').trimEnd().split('\n')).toHaveLength(4);
	expect(stats.worker).toBe(3);
});

test('a job whose agent was interrupted goes on with fanout resume', async () => {
	const directory = scratchDirectory();
	const [csv, output, jobs] = [join(directory, 'in.csv'), join(directory, 'out.csv'), join(directory, 'jobs')];
	writeFileSync(csv, 'name\na\nb\n');
	const spawnArgs = {csv_path: csv, instruction: 'x', output_csv_path: output};
	const {baseUrl, stats} = await seedResponder({spawnArgs, holdWorkers: 3});
	const model = ['--base-url', baseUrl, '--api-key-env', 'MODEL_KEY', '--model', 'gpt-5'];
	const command = new Command(['agent', 'run', ...model, '--job-dir', jobs, 'go'], {env: ENV});
	await eventually(() => stats.worker === 2);
	command.child.kill('SIGINT');
	expect(await command.ended).toEqual({code: 130, signal: null});
	const [job] = readdirSync(jobs);
	const {code, stdout} = await run(['fanout', 'resume', job!, '--job-dir', jobs], ENV);
	expect(code).toBe(0);
	expect(JSON.parse(stdout)).toMatchObject({status: 'completed', completed_items: 2});
});

test.each([
	[['agent', 'run', 'go'], '--base-url is missing'],
	[['agent', 'run', '--base-url', 'http://x/v1', '--api-key-env', KEY, '--model', 'm', 'go'], 'is not set'],
	[agentArgsWithoutScratch('http://u:secret@x/v1'), 'must not hold a user name or a password'],
	[agentArgsWithoutScratch('http://x/v1', '--max-workers', '65'), '--max-workers 65'],
	[agentArgsWithoutScratch('http://x/v1', '--max-turns', '0'), '--max-turns 0'],
	[agentArgsWithoutScratch('http://x/v1', '--reasoning-effort', 'huge'), '--reasoning-effort huge'],
	[agentArgsWithoutScratch('http://x/v1', '--executor', 'local', '--executor', 'local'), 'given twice'],
])('a command line that cannot be used is refused (%#)', async (args, message) => {
	const {code, stderr} = await run(args, ENV);
	expect(code).toBe(2);
	expect(stderr).toContain(message);
	expect(stderr).not.toContain(KEY);
	expect(stderr).not.toContain('secret');
});

function agentArgsWithoutScratch(baseUrl: string, ...more: readonly string[]): string[] {
	return ['agent', 'run', '--base-url', baseUrl, '--api-key-env', 'MODEL_KEY', '--model', 'm', ...more, 'go'];
}
