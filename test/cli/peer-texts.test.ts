import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, onTestFinished, test} from 'vitest';
import {WebSocketServer} from 'ws';
import {Command} from '../helpers/command.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {scratchDirectory} from '../helpers/scratch.js';

/** Sets the title, clears the screen, and writes a line of its own; with a control character beyond ASCII. */
const HOSTILE = 'x\u001b]0;owned\u0007\u001b[2J\u009b31m\r\nerror: forged\u202e';
/** Control characters but for the end of a line, and those that change the direction of the text. */
const UNSAFE = /(?!\n)\p{Cc}|[\u202a-\u202e]/u;

type Answer = {readonly result: unknown} | {readonly error: {readonly code: number; readonly message: string}};

/** A server that answers by method, with the same refusal to all it does not know; closed with the test. */
async function hostileServer(answers: Record<string, Answer>): Promise<{url: string; asked: () => number}> {
	let requests = 0;
	const server = new WebSocketServer({host: '127.0.0.1', port: 0});
	onTestFinished(() => server.close());
	server.on('connection', socket => {
		socket.on('message', (data: Buffer) => {
			const {id, method} = JSON.parse(data.toString()) as {id?: number; method: string};
			requests++;
			const refused: Answer = {error: {code: -32600, message: HOSTILE}};
			if (id !== undefined) socket.send(JSON.stringify({id, ...(answers[method] ?? refused)}));
		});
	});
	await new Promise(resolve => server.once('listening', resolve));
	return {url: `ws://127.0.0.1:${(server.address() as {port: number}).port}`, asked: () => requests};
}

const INFO = {
	shell: {name: HOSTILE, path: `/bin/${HOSTILE}`},
	cwd: 'file:///tmp',
	executorVersion: HOSTILE,
	platformOs: HOSTILE,
	capabilities: {
		portForward: true,
		fsResume: true,
		processList: true,
		processAttach: true,
		processSpill: true,
		processWaitFor: true,
		processScreen: true,
		processShare: true,
		processUnshare: true,
	},
};
const WELCOME: Record<string, Answer> = {
	initialize: {result: {sessionId: 's', protocolVersion: HOSTILE, environmentInfo: INFO}},
	'environment/info': {result: INFO},
	'environment/status': {result: {status: 'ready'}},
};
const ENTRY = {fileName: 'f', name: 'f', isDirectory: false, isFile: true, isSymlink: false};

const HOSTILE_ENTRY = {...ENTRY, fileName: HOSTILE, name: HOSTILE};
/** A list whose names, targets and messages hold what acts on a terminal, and the same in every failure. */
const LINES = [
	{name: '', kind: 'directory', size: 0, mode: 0o755, modifiedAtMs: 0},
	{name: encodeURIComponent(HOSTILE), kind: 'symlink', size: 1, mode: 0o777, modifiedAtMs: 0, target: HOSTILE},
	{name: encodeURIComponent(`${HOSTILE}2`), error: HOSTILE},
	{name: encodeURIComponent(`${HOSTILE}3`), kind: 'other', size: 0, mode: 0, modifiedAtMs: 0},
];
const METADATA = {isDirectory: true, isFile: false, isSymlink: false, size: 0, createdAtMs: 0, modifiedAtMs: 0};
const LISTING: Record<string, Answer> = {
	...WELCOME,
	'fs/getMetadata': {result: METADATA},
	'fs/list': {result: {handleId: 'h'}},
	'fs/readBlock': {
		result: {chunk: Buffer.from(LINES.map(line => `${JSON.stringify(line)}\n`).join('')).toString('base64'), eof: true},
	},
	'fs/close': {result: {}},
};

const LISTED = {
	processId: HOSTILE,
	state: 'running',
	pid: 1,
	argv: [HOSTILE],
	tty: true,
	startedAtMs: 0,
	ageMs: 0,
	outputBytes: 0,
	exitCode: null,
	reason: null,
	descendants: [{pid: 1, parentPid: 1, command: HOSTILE}],
	name: 'x',
	owner: HOSTILE,
	labels: {[HOSTILE]: HOSTILE},
	attached: [{client: HOSTILE, role: 'drive', sinceMs: 0}],
	driver: HOSTILE,
	rows: 24,
	cols: 80,
	generation: HOSTILE,
};
const SCREEN = {
	rows: 24,
	cols: 80,
	cursor: {row: 0, col: 0, isVisible: true},
	alternate: false,
	title: HOSTILE,
	lines: [HOSTILE],
	seq: 1,
};
const SHARED: Record<string, Answer> = {
	...WELCOME,
	'process/list': {result: {processes: [LISTED]}},
	'process/screen': {result: SCREEN},
	'process/waitFor': {result: {by: 'pattern', match: {text: HOSTILE, groups: [HOSTILE]}, seq: 1}},
	'process/shares': {result: {shares: [{shareId: HOSTILE, processId: 'x', role: 'observe', expiresAtMs: 0}]}},
	'process/share': {result: {token: HOSTILE, processId: HOSTILE, role: 'observe', expiresAtMs: 0}},
};

test.each([
	['run', [], {}],
	['ps', [], {}],
	['ps', [], WELCOME],
	['ps', [], SHARED],
	['ps', ['--json'], SHARED],
	['wait', [], WELCOME],
	['wait', ['--text', '.'], SHARED],
	['wait', ['--text', '.', '--json'], SHARED],
	['screen', [], WELCOME],
	['screen', [], SHARED],
	['screen', ['--json'], SHARED],
	['logs', [], WELCOME],
	['logs', ['-t'], SHARED],
	['attach', [], WELCOME],
	['attach', [], SHARED],
	['stop', [], SHARED],
	['rm', [], WELCOME],
	['share', [], SHARED],
	['share', ['--list'], SHARED],
	['share', ['--revoke', 'x'], SHARED],
	['export', [], SHARED],
	['replay', [], SHARED],
	['run', [], WELCOME],
	['env', [], {}],
	['env', [], WELCOME],
	['env', ['--json'], WELCOME],
	['ls', [], WELCOME],
	['ls', ['-l'], {...WELCOME, 'fs/readDirectory': {result: {entries: [ENTRY]}}}],
	['ls', ['--json'], {...WELCOME, 'fs/readDirectory': {result: {entries: [HOSTILE_ENTRY]}}}],
	['ls', ['--json'], LISTING],
	['get', [], LISTING],
	['cp', [], WELCOME],
	['cat', [], WELCOME],
	['forward', [], {}],
] as [string, string[], Record<string, Answer>][])(
	'longarm %s %j writes no text of a server that acts on a terminal (%#)',
	async (command, options, answers) => {
		const {url, asked} = await hostileServer(answers);
		const lines: Record<string, string[]> = {
			run: ['run', '-e', url, '--', 'true'],
			env: ['env', 'test', ...options, url],
			ls: ['ls', '-e', url, ...options, ':/tmp'],
			cat: ['cat', '-e', url, ':/tmp/file'],
			cp: ['cp', '-e', url, ':/tmp/file', scratchDirectory()],
			get: ['get', '-e', url, '-r', '/tmp/tree', scratchDirectory()],
			forward: ['forward', '-e', url, '0:8080'],
			ps: ['ps', '-e', url, ...options],
		};
		const program = new Command(lines[command] ?? [command, '-e', url, 'x', ...options]);
		await program.ended;
		expect(asked()).toBeGreaterThan(0);
		// A tab of our own indents JSON.
		expect(program.stdout.replaceAll('\t', '') + program.stderr).not.toMatch(UNSAFE);
		expect(program.stdout + program.stderr).not.toMatch(/^error: forged/m);
	},
);

test.each([
	['ls', ':/tmp'],
	['ls', '-l', ':/tmp'],
	['get', '-r', '/tmp/tree', scratchTarget],
] as [string, ...(string | (() => string))[]][])(
	'on a terminal longarm %s writes nothing of names and messages that acts on it (%#)',
	async (...words) => {
		const {url, asked} = await hostileServer(LISTING);
		const [command, ...rest] = words.map(word => (typeof word === 'string' ? word : word())) as [string, ...string[]];
		const terminal = await OnTerminal.longarm(command, '-e', url, ...rest);
		await terminal.exited;
		expect([asked() > 0, terminal.raw.includes('forged')]).toEqual([true, true]);
		// The progress line clears itself, and a terminal ends lines with two characters.
		expect(terminal.raw.replaceAll('\r\u001b[K', '').replaceAll('\r\n', '\n')).not.toMatch(UNSAFE);
	},
);

function scratchTarget(): string {
	return scratchDirectory();
}

test('only these files of the command write to its streams without escaping', () => {
	const folder = fileURLToPath(new URL('../../src/cli', import.meta.url));
	const files = readdirSync(folder, {recursive: true, encoding: 'utf8'}).filter(name => name.endsWith('.ts'));
	const writers = files.filter(name => /\b(?:stdout|stderr)\.write\(/.test(readFileSync(join(folder, name), 'utf8')));
	expect(writers.sort()).toEqual([
		'commands/completion/completion-command.ts',
		'commands/env/env-edit.ts',
		'commands/env/env-list.ts',
		'commands/forward/forward-command.ts',
		'commands/install-service/install-service-command.ts',
		'commands/serve/serve-endpoint.ts',
		'common/messages.ts',
		'program.ts',
	]);
});
