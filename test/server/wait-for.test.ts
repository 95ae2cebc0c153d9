import {pathToFileURL} from 'node:url';
import {expect, test} from 'vitest';
import {describeEnforcers} from '../helpers/enforcers.js';
import {GatedBackend} from '../helpers/gated-backend.js';
import {OPEN_STDIN, outcomeOf, refusal, TERMINAL} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import {workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const RUNNING = {exitCode: null, reason: null};

const joined = (server = execServer()) => TestClient.overMemory(server).initialize();
const waitFor = (client: TestClient, processId: string, conditions: object) =>
	client.call('process/waitFor', {processId, ...conditions});

test('the first condition that is met answers', async () => {
	const client = await joined();
	await client.sh('p', 'read line; echo "got $line"; exec sleep 1000', OPEN_STDIN);
	expect(await waitFor(client, 'p', {input: true, exit: true})).toEqual({
		by: 'input',
		waitingFor: 'input',
		isGuess: false,
		seq: 0,
		...RUNNING,
	});
	const wait = waitFor(client, 'p', {pattern: 'got (.*)', exit: true});
	await client.write('p', 'it\n', 'w');
	expect(await wait).toEqual({
		by: 'pattern',
		match: {text: 'got it', groups: ['it'], end: {seq: 1, offset: 6}},
		seq: 1,
		...RUNNING,
	});
	expect(await waitFor(client, 'p', {pattern: 'got', afterSeq: 1, silenceMs: 1})).toEqual({
		by: 'silence',
		seq: 1,
		...RUNNING,
	});
	await client.call('process/terminate', {processId: 'p'});
	const ended = {exitCode: 137, reason: 'terminated'};
	expect(await waitFor(client, 'p', {exit: true})).toMatchObject({by: 'exit', ...ended});
	expect(await waitFor(client, 'p', {pattern: 'never'})).toMatchObject({by: 'ended', ...ended});
});

test('a wait holds up no other request, and a password is told from other input', async () => {
	const client = await joined();
	await client.sh('p', 'stty -echo; printf "Password: "; read secret; exec sleep 1000', TERMINAL);
	const never = waitFor(client, 'p', {pattern: 'never', timeoutMs: 1_000_000});
	expect(await waitFor(client, 'p', {input: true})).toMatchObject({by: 'input', waitingFor: 'password'});
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
	await client.call('process/terminate', {processId: 'p'});
	expect(await never).toMatchObject({by: 'ended'});
});

test('a wait behind a start that takes its time waits for the start, too', async () => {
	const backend = new GatedBackend();
	const client = await joined(execServer({backend: () => backend}));
	const start = client.sh('p', 'exit 5');
	const wait = waitFor(client, 'p', {exit: true});
	const failing = outcomeOf(client.start('q', ['/nonexistent/program']));
	const unmet = outcomeOf(waitFor(client, 'q', {exit: true}));
	await eventually(() => backend.waiting === 2);
	backend.open();
	await start;
	expect(await wait).toMatchObject({by: 'exit', exitCode: 5});
	await failing;
	expect(await unmet).toMatchObject({message: 'unknown process id q'});
});

test('a wait for nothing, for no process, or for a pattern that cannot be read is refused', async () => {
	const client = await joined();
	await client.sh('p', 'cat', OPEN_STDIN);
	expect(await refusal(waitFor(client, 'p', {timeoutMs: 1}))).toEqual({code: -32_602, message: 'nothing to wait for'});
	expect(await refusal(waitFor(client, 'q', {exit: true}))).toMatchObject({message: 'unknown process id q'});
	expect(await refusal(waitFor(client, 'p', {pattern: '('}))).toMatchObject({
		code: -32_602,
		data: {code: 'PATTERN_INVALID', context: {pattern: '('}},
	});
	expect(await refusal(waitFor(client, 'p', {port: 0}))).toMatchObject({code: -32_602});
});

test('a pattern that never ends is refused, and other waits of the same client go on', async () => {
	const client = await joined();
	await client.sh('p', `printf '%060d!' 0; read line; echo done`, OPEN_STDIN);
	await client.shows('p', '!');
	const hostile = refusal(waitFor(client, 'p', {pattern: '^(0+)+$'}));
	const honest = waitFor(client, 'p', {pattern: 'done'});
	expect(await hostile).toMatchObject({
		message: 'the pattern takes too long to match',
		data: {code: 'PATTERN_INVALID'},
	});
	await client.write('p', '\n', 'w');
	expect(await honest).toMatchObject({by: 'pattern', match: {text: 'done', groups: []}});
});

describeEnforcers('a wait for a process in a sandbox', enforcer => {
	test.each([
		['a terminal', TERMINAL, 'read line', 'input'],
		['a terminal that shows nothing', TERMINAL, 'stty -echo; read line', 'password'],
		['the controlling terminal', TERMINAL, 'read line < /dev/tty', 'input'],
		['a pipe', OPEN_STDIN, 'read line', 'input'],
	])('tells that it waits for %s', async (_, io, script, waitingFor) => {
		const client = await joined(execServer({sandboxEnforcer: enforcer}));
		const directory = scratchDirectory();
		const cwd = pathToFileURL(directory).href;
		await client.sh('p', `${script}; :`, {...io, sandbox: workspacePolicy(directory), cwd});
		expect(await waitFor(client, 'p', {input: true})).toMatchObject({by: 'input', waitingFor, isGuess: false});
	});

	test('tells that none is waited for', async () => {
		const client = await joined(execServer({sandboxEnforcer: enforcer}));
		const directory = scratchDirectory();
		const extra = {...TERMINAL, sandbox: workspacePolicy(directory), cwd: pathToFileURL(directory).href};
		await client.sh('p', 'echo ready; sleep 1000 | cat', extra);
		await client.shows('p', 'ready');
		const wait = waitFor(client, 'p', {input: true});
		await client.call('process/terminate', {processId: 'p'});
		expect(await wait).toMatchObject({by: 'ended', exitCode: 137});
	});
});
