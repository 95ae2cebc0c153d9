import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {UNREPORTED} from '../../src/agent-loop/worker/agent-worker.js';
import {Environment} from '../../src/environments/environment.js';
import {calls, completed, type ModelCall, says, scriptedModel, seedResponder} from '../helpers/model-endpoints.js';
import {eventually, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {closeWithTest} from '../helpers/transports.js';
import {attemptOf, localEnvironment, workerFor} from './attempts.js';

const REPORT = {job_id: 'job-1', item_id: 'row-1', result: {ok: true}};

function reports(args: object = REPORT, callId?: string): object {
	return calls('report_agent_job_result', args, callId);
}

/** Outputs of calls in a request, by id of the call. */
function outputsIn({body}: ModelCall): Record<string, string> {
	const outputs = body.input.filter(({type}) => type === 'function_call_output');
	return Object.fromEntries(outputs.map(({call_id: id, output}) => [id, output])) as Record<string, string>;
}

test('the prompt has the texts that programs look for, the instruction, the row and the schema', async () => {
	const model = await scriptedModel([reports(), completed()]);
	const schema = {type: 'object', required: ['ok']};
	const {worker} = workerFor(model.baseUrl, {schema});
	await worker.run(attemptOf());
	const [{body, headers}] = model.calls as [ModelCall];
	const [{content}] = body.input as unknown as [{content: [{text: string}]}];
	const {text} = content[0];
	const lines = text.split('\n');
	expect(lines[0]).toBe('You are processing one item for a generic agent job.');
	expect(lines).toContain('Job ID: job-1');
	expect(lines).toContain('Item ID: row-1');
	expect(text).toContain('Look at cat_1.');
	expect(text).toContain(JSON.stringify({name: 'cat_1'}, undefined, 2));
	expect(text).toContain(JSON.stringify(schema, undefined, 2));
	expect(headers['x-openai-subagent']).toBe('agent_job:job-1');
	const tools = body['tools'] as {name: string; strict: boolean}[];
	expect(tools.map(({name}) => name)).toEqual(['exec_command', 'write_stdin', 'report_agent_job_result']);
	expect(text).not.toContain('token of the attempt');
});

test('a line break in an id begins no line of the prompt', async () => {
	const model = await scriptedModel([completed()]);
	await workerFor(model.baseUrl).worker.run(attemptOf({itemId: 'a\nJob ID: other'}));
	const [{content}] = model.calls[0]!.body.input as unknown as [{content: [{text: string}]}];
	expect(content[0].text.split('\n').filter(line => line.startsWith('Job ID: '))).toEqual(['Job ID: job-1']);
});

test('an accepted report ends the work without another request', async () => {
	const model = await seedResponder();
	const attempt = attemptOf();
	const {worker, notifications} = workerFor(model.baseUrl);
	expect(await worker.run(attempt)).toEqual({kind: 'reported'});
	expect(attempt.reports).toEqual([{result: {item_id: 'row-1'}, options: {stop: false}}]);
	expect(model.stats).toMatchObject({worker: 1, toolOutput: 0});
	expect(notifications.map(({method}) => method)).toEqual([
		'turn/started',
		'item/completed',
		'item/completed',
		'turn/completed',
	]);
});

test('with finishTurn the model hears that its report was accepted', async () => {
	const model = await seedResponder();
	const {worker} = workerFor(model.baseUrl, {finishTurn: true});
	expect(await worker.run(attemptOf())).toEqual({kind: 'reported'});
	expect(model.stats).toMatchObject({worker: 1, toolOutput: 1, outputs: ['{"accepted":true}']});
});

test('of two reports in one response the first is taken', async () => {
	const model = await seedResponder({mode: 'twice'});
	const attempt = attemptOf();
	const {worker} = workerFor(model.baseUrl, {finishTurn: true});
	expect(await worker.run(attempt)).toEqual({kind: 'reported'});
	expect(attempt.reports[0]).toMatchObject({result: {n: 1}});
	expect(model.stats.outputs).toEqual(['{"accepted":true}', '{"accepted":false}']);
});

test('a report for another item never reaches the job', async () => {
	const model = await seedResponder({mode: 'wrong'});
	const attempt = attemptOf({itemId: 'row-2'});
	expect(await workerFor(model.baseUrl).worker.run(attempt)).toEqual({kind: 'unreported', error: UNREPORTED});
	expect(attempt.reports).toEqual([]);
	expect(model.stats.outputs).toEqual(['{"accepted":false}']);
});

test('a report for another job never reaches the job', async () => {
	const model = await scriptedModel([reports({...REPORT, job_id: 'job-2'}), completed()], [completed()]);
	const attempt = attemptOf();
	await workerFor(model.baseUrl).worker.run(attempt);
	expect(attempt.reports).toEqual([]);
});

test('a result that is no object, and arguments that cannot be read, are told to the model', async () => {
	const array = await seedResponder({mode: 'array'});
	expect(await workerFor(array.baseUrl).worker.run(attemptOf())).toMatchObject({kind: 'unreported'});
	expect(array.stats.outputs).toEqual(['result must be a JSON object']);
	const model = await scriptedModel(
		[calls('report_agent_job_result', '{"job_id":"j"}', 'a'), calls('nothing', {}, 'b'), completed()],
		[completed()],
	);
	await workerFor(model.baseUrl).worker.run(attemptOf());
	expect(outputsIn(model.calls[1]!)).toEqual({
		a: 'failed to parse function arguments: missing field `item_id` at line 1 column 14',
		b: 'unsupported call: nothing',
	});
});

test('a result that violates the schema is told with its fault, and may be mended', async () => {
	const model = await scriptedModel([reports(), completed()], [reports(), completed()]);
	let count = 0;
	const attempt = attemptOf({
		report: async () =>
			count++ === 0 ? {accepted: false, reason: 'schema', detail: 'result.n is missing'} : {accepted: true},
	});
	expect(await workerFor(model.baseUrl).worker.run(attempt)).toEqual({kind: 'reported'});
	expect(Object.values(outputsIn(model.calls[1]!))).toEqual([
		'{"accepted":false,"reason":"schema: result.n is missing"}',
	]);
});

test('stop is passed on with the result', async () => {
	const model = await seedResponder({mode: 'stop'});
	const attempt = attemptOf();
	await workerFor(model.baseUrl).worker.run(attempt);
	expect(attempt.reports).toEqual([{result: {item_id: 'row-1'}, options: {stop: true}}]);
});

test('a model that stops without a report is an unreported attempt, and is reminded once if that is asked for', async () => {
	const model = await scriptedModel([says('done'), completed()]);
	expect(await workerFor(model.baseUrl).worker.run(attemptOf())).toEqual({kind: 'unreported', error: UNREPORTED});
	expect(model.calls).toHaveLength(1);
	const forgetful = await scriptedModel([says('done'), completed()], [reports(), completed()]);
	const {worker} = workerFor(forgetful.baseUrl, {remind: true});
	expect(await worker.run(attemptOf())).toEqual({kind: 'reported'});
	expect(JSON.stringify(forgetful.calls[1]!.body.input.at(-1))).toContain('Call report_agent_job_result now');
	const stubborn = await scriptedModel([completed()]);
	const reminded = workerFor(stubborn.baseUrl, {remind: true});
	expect(await reminded.worker.run(attemptOf())).toMatchObject({kind: 'unreported'});
	expect(stubborn.calls).toHaveLength(2);
});

test.each(['fail', 'cut'])('a model that always fails (%s) fails the attempt after five retries', async mode => {
	const model = await seedResponder({mode});
	const {worker, notifications} = workerFor(model.baseUrl);
	const error = mode === 'fail' ? 'synthetic' : 'stream closed before response.completed';
	expect(await worker.run(attemptOf())).toEqual({kind: 'failed', reason: 'model', error});
	expect(model.stats.worker).toBe(6);
	expect(notifications.filter(({method}) => method === 'turn/retrying')).toHaveLength(5);
	expect(notifications.at(-1)).toMatchObject({
		method: 'turn/completed',
		params: {turn: {status: 'failed', error: {message: error}}},
	});
});

test('a turn that does not end is given up after the bound', async () => {
	const model = await scriptedModel([calls('nothing', {}), completed()]);
	const {worker} = workerFor(model.baseUrl, {maxTurns: 3});
	expect(await worker.run(attemptOf())).toEqual({
		kind: 'failed',
		reason: 'model',
		error: 'the turn is not finished after 3 responses of the model',
	});
	expect(model.calls).toHaveLength(3);
});

test('the conversation grows by the items of the model and the outputs of its calls', async () => {
	const reasoning = {type: 'reasoning', id: 'rs', encrypted_content: 'x'};
	const model = await scriptedModel(
		[
			{type: 'response.output_item.done', item: reasoning},
			calls('exec_command', {cmd: 'echo hello'}, 'c1'),
			completed(),
		],
		[reports(), completed()],
	);
	await workerFor(model.baseUrl).worker.run(attemptOf());
	const {input} = model.calls[1]!.body;
	expect(input.map(({type}) => type)).toEqual(['message', 'reasoning', 'function_call', 'function_call_output']);
	expect(input[1]).toEqual(reasoning);
	expect(outputsIn(model.calls[1]!)['c1']).toMatch(/Process exited with code 0\n.*\nOutput:\nhello\n/s);
});

test('commands run on the executor of the item, in its directory, and know the item', async () => {
	const {url} = await serving();
	const directory = scratchDirectory();
	const environment = closeWithTest(Environment.remote('there', url));
	const cmd = 'pwd > where; echo "$LONGARM_JOB_ID/$LONGARM_ITEM_ID/$LONGARM_ROW_INDEX/$LONGARM_ATTEMPT"';
	const model = await scriptedModel([calls('exec_command', {cmd}, 'c1'), completed()], [reports(), completed()]);
	const executor = {name: 'there', environment, slots: 1, cwd: directory};
	expect(await workerFor(model.baseUrl).worker.run(attemptOf({executor}))).toEqual({kind: 'reported'});
	expect(outputsIn(model.calls[1]!)['c1']).toContain('\nOutput:\njob-1/row-1/0/1\n');
	expect(existsSync(join(directory, 'where'))).toBe(true);
});

test('calls of one response run at the same time', async () => {
	const directory = scratchDirectory();
	// Each waits for the other one.
	const cmd = (own: string, other: string) =>
		`touch ${directory}/${own}; until [ -e ${directory}/${other} ]; do sleep 0.01; done; echo met`;
	const model = await scriptedModel(
		[
			calls('exec_command', {cmd: cmd('a', 'b'), yield_time_ms: 30_000}, 'c1'),
			calls('exec_command', {cmd: cmd('b', 'a'), yield_time_ms: 30_000}, 'c2'),
			completed(),
		],
		[reports(), completed()],
	);
	await workerFor(model.baseUrl).worker.run(attemptOf());
	const outputs = outputsIn(model.calls[1]!);
	expect(Object.keys(outputs)).toEqual(['c1', 'c2']);
	for (const text of Object.values(outputs)) expect(text).toMatch(/\nOutput:\nmet\n$/);
});

test('commands that still run when the work is over are ended', async () => {
	const file = join(scratchDirectory(), 'pid');
	const model = await scriptedModel(
		[calls('exec_command', {cmd: `echo $$ > ${file}; exec sleep 1000`, yield_time_ms: 250}, 'c1'), completed()],
		[calls('exec_command', {cmd: `until [ -s ${file} ]; do sleep 0.02; done; cat ${file}`}, 'c2'), completed()],
		[calls('exec_command', {cmd: 'exec sleep 1000', yield_time_ms: 30_000}, 'c3'), reports(), completed()],
	);
	expect(await workerFor(model.baseUrl).worker.run(attemptOf())).toEqual({kind: 'reported'});
	const pid = Number(/Output:\n(\d+)/.exec(outputsIn(model.calls[2]!)['c2']!)![1]);
	await untilDead(pid);
});

test('an attempt that is aborted ends its request and its commands', async () => {
	const file = join(scratchDirectory(), 'started');
	const controller = new AbortController();
	const model = await scriptedModel([
		calls('exec_command', {cmd: `touch ${file}; exec sleep 1000`, yield_time_ms: 30_000}),
		completed(),
	]);
	const {worker, notifications} = workerFor(model.baseUrl);
	const running = worker.run(attemptOf({signal: controller.signal}));
	await eventually(() => existsSync(file));
	controller.abort(new Error('time is up'));
	expect(await running).toMatchObject({kind: 'unreported'});
	expect(notifications.at(-1)).toMatchObject({params: {turn: {status: 'interrupted'}}});
});

test('commands do not inherit the variable with the key of the model', async () => {
	const cmd = 'echo "[$MODEL_KEY][$KEPT_TOKEN]"';
	const variables = {...process.env, MODEL_KEY: 'key of the model', KEPT_TOKEN: 'kept'};
	const model = await scriptedModel(
		[calls('exec_command', {cmd, login: false}, 'c1'), completed()],
		[reports(), completed()],
	);
	const executor = {name: 'here', environment: localEnvironment(variables), slots: 1};
	const {worker} = workerFor(model.baseUrl, {withheldVariables: ['MODEL_KEY']});
	await worker.run(attemptOf({executor}));
	expect(outputsIn(model.calls[1]!)['c1']).toContain('\nOutput:\n[][kept]\n');
});
