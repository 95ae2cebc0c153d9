import {spawn} from 'node:child_process';
import {chmodSync, existsSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {refusal} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import {requestUpgrade} from '../helpers/raw-http.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {clientWith, fileWith, sha256} from '../helpers/tokens.js';

interface Entry {
	readonly msg: string;
	readonly [field: string]: unknown;
}

function parse(text: string): Entry[] {
	const lines = text.trim().split('\n').filter(Boolean);
	return lines.map(line => JSON.parse(line) as Entry);
}

const ADDRESS = expect.stringMatching(/^127\.0\.0\.1:\d+$/) as unknown;

const TOKENS = [
	['driver', '"drive"'],
	['viewer', '"observe", "http"'],
].map(([name, scopes]) => `[[tokens]]\nname = "${name}"\nsha256 = "${sha256(name!)}"\nscopes = [${scopes}]\n`);

test('logins, starts and refusals are entered: who, what and from where, and no argument', async () => {
	const command = new Command([
		'serve',
		'--ws-auth',
		'capability-token',
		'--ws-tokens-file',
		fileWith(TOKENS.join('')),
	]);
	const url = await command.url();
	const driver = await clientWith(url, 'driver');
	const viewer = await clientWith(url, 'viewer');
	await requestUpgrade(url, 'Bearer wrong');
	await driver.start('job', ['/bin/sh', '-c', 'true; : hunter2', '\u009b31m'], {env: {TOKEN: 'hunter2'}});
	await refusal(driver.start('none', ['/no/such/\u001b\u009b', 'hunter2']));
	await refusal(viewer.start('seen', ['/bin/sh', '-c', 'hunter2']));
	await refusal(viewer.call('fs/readFile', {path: 'file:///etc/passwd'}));
	await refusal(viewer.call('forward/open', {forwardId: 'f', host: '10.0.0.1', port: 1}));
	await refusal(
		viewer.call('http/request', {method: 'GET', url: `${url.replace('ws', 'http')}/metrics`, requestId: 'r'}),
	);
	await command.until(() => command.stderr.includes('HTTP_REFUSED'), 'the last entry');
	const [, ...entries] = parse(command.stderr);
	const common = {level: 'info', time: expect.any(String) as unknown, peer: ADDRESS};
	const [byDriver, byViewer] = [
		{...common, token: 'driver'},
		{...common, token: 'viewer'},
	];
	expect(entries).toEqual([
		{...byDriver, msg: 'let in'},
		{...byViewer, msg: 'let in'},
		expect.objectContaining({msg: 'not let in', from: '127.0.0.1', status: 401}),
		{
			...byDriver,
			msg: 'process started',
			session: driver.sessionId,
			process: 'job',
			pid: expect.any(Number) as unknown,
			program: '/bin/sh',
			sandbox: 'none',
		},
		{...byDriver, msg: 'not started', process: 'none', program: '/no/such/\u001b\u009b', reason: 'PROGRAM_NOT_FOUND'},
		{...byViewer, msg: 'not started', process: 'seen', program: '/bin/sh', reason: 'SCOPE_MISSING'},
		{...byViewer, msg: 'call refused', method: 'fs/readFile', reason: 'SCOPE_MISSING', scope: 'files'},
		{...byViewer, msg: 'call refused', method: 'forward/open', reason: 'FORWARD_REFUSED', host: '10.0.0.1'},
		{...byViewer, msg: 'call refused', method: 'http/request', reason: 'HTTP_REFUSED', host: '127.0.0.1'},
	]);
	expect(command.stderr).not.toContain('hunter2');
	// Nothing that a terminal obeys.
	// oxlint-disable-next-line no-control-regex
	expect(command.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

test('a file of its own takes all entries whatever the level of the log, and is opened again on SIGHUP', async () => {
	const path = join(scratchDirectory(), 'audit');
	const command = new Command(['serve', '--log-level', 'error', '--audit-log', path, '--audit-arguments']);
	const client = await clientWith(await command.url(), 'not asked for');
	await client.start('job', ['/bin/sh', '-c', 'true', 'x'.repeat(10_000), 'left out']);
	expect(statSync(path).mode & 0o777).toBe(0o600);
	const args = ['-c', 'true', `${'x'.repeat(4088)}…`, '…'];
	expect(parse(readFileSync(path, 'utf8'))).toMatchObject([{msg: 'let in'}, {process: 'job', arguments: args}]);
	renameSync(path, `${path}.1`);
	command.child.kill('SIGHUP');
	await eventually(() => existsSync(path));
	await client.start('later', ['/bin/true']);
	expect(parse(readFileSync(path, 'utf8'))).toMatchObject([{msg: 'process started', process: 'later', arguments: []}]);
	expect(command.stderr).toBe('');
});

test('a path that cannot be an audit log is refused before anything is served', async () => {
	const directory = scratchDirectory();
	const target = join(directory, 'target');
	writeFileSync(target, 'kept');
	const link = join(directory, 'link');
	symlinkSync(target, link);
	const open = join(directory, 'open');
	writeFileSync(open, '');
	chmodSync(open, 0o620);
	for (const path of [link, open, directory, '/dev/null', join(directory, 'no', 'such')]) {
		const {code, stderr, stdout} = await run(['serve', '--audit-log', path]);
		expect({code, stdout}).toEqual({code: 2, stdout: ''});
		expect(stderr).toContain(`cannot write the audit log ${path}: `);
	}
	expect(readFileSync(target, 'utf8')).toBe('kept');
});

test.each(['pipe', 'socket'])('a reader of the log that reads nothing stops no work (%s)', async kind => {
	const script = kind === 'pipe' ? '{ "$@" 2>&1 >&3 | { read line; read wait <&4; cat >&2; }; } 3>&1' : 'exec "$@"';
	const args = ['-c', script, 'sh', process.execPath, PROGRAM, 'serve', '--log-format', 'json'];
	const server = spawn('/bin/sh', args, {stdio: ['ignore', 'pipe', 'pipe', 'ignore', 'pipe'], detached: true});
	onTestFinished(() => void process.kill(-server.pid!, 'SIGKILL'));
	const url = await new Promise<string>(resolve => {
		server.stdout!.setEncoding('utf8').once('data', (text: string) => resolve(text.trim()));
	});
	server.stderr!.pause();
	const client = await clientWith(url, 'not asked for');
	const refuse = (): Promise<unknown> => refusal(client.call('forward/open', {forwardId: 'f', port: 1}));
	// More than any pipe or socket takes.
	for (let round = 0; round < 20; round++) await Promise.all(Array.from({length: 500}, refuse));
	let text = '';
	server.stderr!.setEncoding('utf8').on('data', (piece: string) => {
		text += piece;
	});
	server.stderr!.resume();
	const go = server.stdio[4] as NodeJS.WritableStream;
	// The shell is killed with what it holds.
	go.on('error', () => {});
	go.write('go on\n');
	// Every further entry is tried behind a notice of those that were dropped.
	while (!text.includes('log entries were dropped')) await refuse();
	const lines = text.split('\n').filter(line => line.startsWith('{') && line.endsWith('}'));
	const notice = lines.map(line => JSON.parse(line) as Entry).find(({msg}) => msg === 'log entries were dropped');
	expect(notice).toMatchObject({level: 'warn', count: expect.any(Number) as unknown});
});
