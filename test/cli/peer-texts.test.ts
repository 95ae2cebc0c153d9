import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, onTestFinished, test} from 'vitest';
import {WebSocketServer} from 'ws';
import {Command} from '../helpers/command.js';

/** Sets the title, clears the screen, and writes a line of its own; with a control character beyond ASCII. */
const HOSTILE = 'x\u001b]0;owned\u0007\u001b[2J\u009b31m\r\nerror: forged\u202e';
/** Control characters but for the end of a line, and those that change the direction of the text. */
const UNSAFE = /(?!\n)\p{Cc}|[\u202a-\u202e]/u;

type Answer = {readonly result: unknown} | {readonly error: {readonly code: number; readonly message: string}};

/** A server that answers by method, with the same refusal to all it does not know; closed with the test. */
async function hostileServer(answers: Record<string, Answer>): Promise<string> {
	const server = new WebSocketServer({host: '127.0.0.1', port: 0});
	onTestFinished(() => server.close());
	server.on('connection', socket => {
		socket.on('message', (data: Buffer) => {
			const {id, method} = JSON.parse(data.toString()) as {id?: number; method: string};
			const refused: Answer = {error: {code: -32600, message: HOSTILE}};
			if (id !== undefined) socket.send(JSON.stringify({id, ...(answers[method] ?? refused)}));
		});
	});
	await new Promise(resolve => server.once('listening', resolve));
	return `ws://127.0.0.1:${(server.address() as {port: number}).port}`;
}

const INFO = {
	shell: {name: HOSTILE, path: `/bin/${HOSTILE}`},
	cwd: 'file:///tmp',
	executorVersion: HOSTILE,
	platformOs: HOSTILE,
	capabilities: {portForward: true, fsResume: true},
};
const WELCOME: Record<string, Answer> = {
	initialize: {result: {sessionId: 's', protocolVersion: HOSTILE, environmentInfo: INFO}},
	'environment/info': {result: INFO},
	'environment/status': {result: {status: 'ready'}},
};
const ENTRY = {fileName: 'f', name: 'f', isDirectory: false, isFile: true, isSymlink: false};

test.each([
	['run', [], {}],
	['run', [], WELCOME],
	['env', [], {}],
	['env', [], WELCOME],
	['env', ['--json'], WELCOME],
	['ls', [], WELCOME],
	['ls', ['-l'], {...WELCOME, 'fs/readDirectory': {result: {entries: [ENTRY]}}}],
	['cp', [], WELCOME],
	['cat', [], WELCOME],
	['forward', [], {}],
] as [string, string[], Record<string, Answer>][])(
	'longarm %s %j writes no text of a server that acts on a terminal (%#)',
	async (command, options, answers) => {
		const url = await hostileServer(answers);
		const lines: Record<string, string[]> = {
			run: ['run', '-e', url, '--', 'true'],
			env: ['env', 'test', ...options, url],
			ls: ['ls', '-e', url, ...options, '/tmp'],
			cat: ['cat', '-e', url, '/tmp/file'],
			cp: ['cp', '-e', url, ':/tmp/file', '/tmp/nowhere/file'],
			forward: ['forward', '-e', url, '8080'],
		};
		const program = new Command(lines[command]!);
		await program.ended;
		// A tab of our own indents JSON.
		expect(program.stdout.replaceAll('\t', '') + program.stderr).not.toMatch(UNSAFE);
		expect(program.stdout + program.stderr).not.toMatch(/^error: forged/m);
	},
);

test('only these files of the command write to its streams without escaping', () => {
	const folder = fileURLToPath(new URL('../../src/cli', import.meta.url));
	const files = readdirSync(folder, {recursive: true, encoding: 'utf8'}).filter(name => name.endsWith('.ts'));
	const writers = files.filter(name => /\b(?:stdout|stderr)\.write\(/.test(readFileSync(join(folder, name), 'utf8')));
	expect(writers.sort()).toEqual([
		'commands/completion/completion-command.ts',
		'commands/doctor/doctor-command.ts',
		'commands/env/env-edit.ts',
		'commands/env/env-list.ts',
		'commands/forward/forward-command.ts',
		'commands/serve/serve-endpoint.ts',
		'common/messages.ts',
		'program.ts',
	]);
});
