import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {Client} from '@modelcontextprotocol/client';
import {StdioClientTransport} from '@modelcontextprotocol/client/stdio';
import {expect, onTestFinished, test} from 'vitest';
import {Command, PROGRAM} from '../../helpers/command.js';
import {callText, MODERN, machineUrl, TASKS, textOf, untilTaskRests} from '../../helpers/mcp-service.js';
import {askUntil} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {serving} from '../../helpers/serving.js';

type Result = Record<string, unknown>;

interface Answer {
	readonly id?: number;
	readonly method?: string;
	readonly result?: Result;
	readonly error?: {readonly message: string};
}

/** A client that writes its own messages to `longarm mcp`, a program of its own; every message is counted. */
class ScriptedClient {
	readonly command: Command;
	toolCalls = 0;
	readonly progress: Answer[] = [];
	readonly #envelope: Result;
	readonly #pending = new Map<number, (answer: Answer) => void>();
	readonly #watchers = new Set<() => void>();
	#last = 0;

	constructor(args: readonly string[], envelope: Result, env: Record<string, string> = {}) {
		this.command = new Command(['mcp', ...args], {ownStdout: true, env});
		this.#envelope = envelope;
		createInterface({input: this.command.child.stdout}).on('line', line => this.#receive(JSON.parse(line) as Answer));
	}

	async request(method: string, params: Result = {}, meta: Result = {}): Promise<Result> {
		const id = ++this.#last;
		const answered = new Promise<Answer>(resolve => this.#pending.set(id, resolve));
		const _meta = {...this.#envelope, ...meta};
		this.#send({id, method, params: {...params, ...(Object.keys(_meta).length > 0 && {_meta})}});
		const {result, error} = await answered;
		if (error) throw new Error(error.message);
		return result!;
	}

	async call(name: string, given: Result, meta?: Result): Promise<Result> {
		this.toolCalls++;
		return this.request('tools/call', {name, arguments: given}, meta);
	}

	/** The handshake of the protocol of 2025-11-25. */
	async initialize(): Promise<this> {
		const clientInfo = {name: 'scripted', version: '1'};
		await this.request('initialize', {protocolVersion: '2025-11-25', capabilities: {}, clientInfo});
		this.#send({method: 'notifications/initialized'});
		return this;
	}

	async firstProgress(): Promise<void> {
		while (this.progress.length === 0) await new Promise<void>(resolve => this.#watchers.add(resolve));
	}

	#send(message: Result): void {
		this.command.child.stdin.write(`${JSON.stringify({jsonrpc: '2.0', ...message})}\n`);
	}

	#receive(answer: Answer): void {
		if (answer.id !== undefined && answer.method === undefined) return this.#pending.get(answer.id)?.(answer);
		if (answer.method === 'notifications/progress') this.progress.push(answer);
		for (const wake of this.#watchers) wake();
	}
}

const modern = (capabilities: Result = {}): Result => ({
	'io.modelcontextprotocol/protocolVersion': MODERN,
	'io.modelcontextprotocol/clientInfo': {name: 'scripted', version: '1'},
	'io.modelcontextprotocol/clientCapabilities': capabilities,
});

/** A build that writes numbered lines, waits, and writes more when it may go on. */
function build(): {command: string; go: () => void; lines: string} {
	const gate = join(scratchDirectory(), 'go');
	const lines = Array.from({length: 200}, (_line, at) => `line ${at + 1}`).join('\n');
	return {
		command: `seq -f 'line %.0f' 100; until [ -e ${gate} ]; do sleep 0.02; done; seq -f 'line %.0f' 101 200; exit 7`,
		go: () => writeFileSync(gate, ''),
		lines,
	};
}

const outputOf = (text: string): string =>
	text
		.split('\n')
		.filter(line => line.startsWith('line '))
		.join('\n');

test('a modern client with tasks makes one call for a long build, and loses nothing', async () => {
	const client = new ScriptedClient(['-e', await machineUrl(), '--grace', '10ms'], modern({extensions: {[TASKS]: {}}}));
	const {command, go, lines} = build();
	const {resultType, taskId} = await client.call('exec', {command});
	expect(resultType).toBe('task');
	go();
	const task = await untilTaskRests(client, taskId);
	const text = textOf(task['result'] as Result);
	expect([task['status'], outputOf(text), client.toolCalls]).toEqual(['completed', lines, 1]);
	expect(text).toMatch(/^\[exit 7 · /);
});

test('a modern client without tasks gets an answer in time, and the rest by waiting', async () => {
	const client = new ScriptedClient(['-e', await machineUrl(), '--max-wait', '100ms'], modern());
	const {first, last, output, lines} = await buildByWaiting(client);
	expect([first, last, output]).toEqual(['[running', '[exit', lines]);
});

test('a client of 2025-11-25 that says nothing of itself gets an answer before it gives up', async () => {
	const client = await new ScriptedClient(['-e', await machineUrl(), '--max-wait', '100ms'], {}).initialize();
	const {first, last, output, lines} = await buildByWaiting(client);
	expect([first, last, output, client.progress]).toEqual(['[running', '[exit', lines, []]);
});

/** Waits for a build as often as it takes; every answer has only the output that is new. */
async function buildByWaiting(client: ScriptedClient): Promise<Record<'first' | 'last' | 'output' | 'lines', string>> {
	const {command, go, lines} = build();
	const texts = [textOf(await client.call('exec', {command}))];
	const id = /· (p\d+) ·/.exec(texts[0]!)![1];
	go();
	await askUntil(
		async () => texts[texts.push(textOf(await client.call('wait', {id}))) - 1]!,
		text => !text.startsWith('[running'),
	);
	const [first, last] = [texts[0]!, texts.at(-1)!].map(text => text.split(' ', 1)[0]!) as [string, string];
	return {first, last, output: texts.map(outputOf).filter(Boolean).join('\n'), lines};
}

test('a client of 2025-11-25 with a progress token is held with progress, and makes one call', async () => {
	const client = await new ScriptedClient(['-e', await machineUrl(), '--max-wait', '100ms'], {}).initialize();
	const {command, go, lines} = build();
	const answer = client.call('exec', {command, wait_s: 600}, {progressToken: 'token'});
	await client.firstProgress();
	go();
	const text = textOf(await answer);
	expect([outputOf(text), client.toolCalls]).toEqual([lines, 1]);
	expect(text).toMatch(/^\[exit 7 · /);
});

test('a client that is killed in a call leaves the process to the next one', async () => {
	const url = await machineUrl();
	const {command, go, lines} = build();
	const first = new ScriptedClient(['-e', url], modern());
	await first.call('exec', {command, name: 'build', wait_s: 0});
	void first.call('wait', {id: 'build'}).catch(() => {});
	first.command.child.kill('SIGKILL');
	await first.command.ended;
	const second = new ScriptedClient(['-e', url], modern());
	expect(textOf(await second.call('ps', {}))).toContain('build');
	go();
	const text = textOf(await second.call('wait', {id: 'build'}));
	expect(text).toMatch(/^\[exit 7 · /);
	const logs = textOf(await second.call('logs', {id: 'build'}));
	expect(outputOf(logs)).toBe(lines);
});

test('the client of the SDK uses it over standard input and output', async () => {
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [PROGRAM, 'mcp', '-e', await machineUrl()],
		env: {PATH: process.env['PATH']!, LONGARM_HOME: '/nonexistent'},
	});
	const client = new Client({name: 'test', version: '1'});
	onTestFinished(() => client.close());
	await client.connect(transport);
	const {tools} = await client.listTools();
	expect(tools.map(({name}) => name)).toEqual(expect.arrayContaining(['exec', 'wait', 'ps', 'stop', 'read']));
	expect(await callText(client, 'exec', {command: 'echo hello; exit 2'})).toMatch(/^\[exit 2 · .*\]\nhello$/);
});

test('exec on 50 machines runs once on each, answers once per distinct output, and one that is gone is lost', async () => {
	const home = join(scratchDirectory(), 'home');
	mkdirSync(home);
	const names = Array.from({length: 50}, (_name, at) => `m${at}`);
	const entries = await Promise.all(
		names.map(async name => {
			const variables = {...process.env, MACHINE: name};
			const url =
				name === 'm7' ? 'ws://127.0.0.1:1' : (await serving({variables, stateDirectory: scratchDirectory()})).url;
			return `[[environments]]\nid = "${name}"\nurl = "${url}"\nlabels = {fleet = "all"}\n`;
		}),
	);
	writeFileSync(join(home, 'environments.toml'), entries.join('\n'), {mode: 0o600});
	const client = new ScriptedClient(['-e', '@fleet=all'], modern(), {LONGARM_HOME: home});
	const ran = join(home, 'ran');
	const command = `echo $MACHINE >>${ran}; if [ $MACHINE = m3 ]; then echo other; elif [ $MACHINE = m4 ]; then exit 9; else echo same; fi`;
	const text = textOf(await client.call('exec', {command, on: '@fleet=all'}));
	expect(text.match(/^same$/gm)).toHaveLength(1);
	expect(text).toMatch(/\[47 of 50 exit 0, equal: m0 m1 m2 m5 m6 m8 /);
	expect(text).toMatch(/\[1 of 50 exit 9: m4/);
	expect(text).toMatch(/\[1 of 50 exit 0: m3/);
	expect(text).toMatch(/\[1 of 50 lost: m7/);
	const reached = names.filter(name => name !== 'm7');
	expect(readFileSync(ran, 'utf8').trim().split('\n').sort()).toEqual(reached.sort());
});
