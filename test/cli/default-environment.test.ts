import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {PROGRAM, run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {onTerminal} from '../helpers/terminal.js';

const TELL = ['run', '--', 'sh', '-c', 'echo "${PLACE-here}"'];

/** A server whose processes know its name. */
async function server(place: string): Promise<string> {
	return (await serving({variables: {...process.env, PLACE: place}})).url;
}

/** A directory with an `environments.toml` of these environments. */
function home(environments: Readonly<Record<string, string>>, first = ''): {LONGARM_HOME: string} {
	const path = scratchDirectory();
	const tables = Object.entries(environments).map(([id, url]) => `[[environments]]\nid = "${id}"\nurl = "${url}"\n`);
	writeFileSync(join(path, 'environments.toml'), [first, ...tables].join('\n'), {mode: 0o600});
	return {LONGARM_HOME: path};
}

test('the environment of a command is that of -e, of LONGARM_ENVIRONMENT, of the address variable or of the file', async () => {
	const [one, two, three] = await Promise.all([server('one'), server('two'), server('three')]);
	const file = home({one: one, two: two}, 'default = "one"');
	const tell = async (env: Record<string, string>, ...options: string[]) => {
		const [first, ...rest] = TELL;
		const {stdout, stderr} = await run([first!, ...options, ...rest], {...file, ...env});
		return stdout + stderr;
	};
	expect(await tell({})).toBe('one\n');
	const url = {LONGARM_EXEC_SERVER_URL: ` ${three} `};
	expect(await tell(url)).toBe('three\n');
	expect(await tell({...url, LONGARM_ENVIRONMENT: 'two'})).toBe('two\n');
	expect(await tell({LONGARM_ENVIRONMENT: three})).toBe('three\n');
	expect(await tell({...url, LONGARM_ENVIRONMENT: 'two'}, '-e', 'one')).toBe('one\n');
	expect(await tell(url, '-e', 'local')).toBe('here\n');
	expect(await tell({LONGARM_ENVIRONMENT: 'local'})).toBe('here\n');
	expect(await tell({LONGARM_HOME: '/nonexistent'})).toBe('here\n');
	expect(await tell({...home({one: one})})).toBe('here\n');
});

test('env add --default makes an environment the default of commands', async () => {
	const path = {LONGARM_HOME: join(scratchDirectory(), 'home')};
	await run(['env', 'add', 'devbox', await server('devbox'), '--default'], path);
	expect((await run(TELL, path)).stdout).toBe('devbox\n');
});

test('a terminal shows which environment is the default, once and without secrets; -q and -e do not', async () => {
	const url = await server('devbox');
	const {port} = new URL(url);
	const file = home({devbox: `ws://user:secret@127.0.0.1:${port}/?token=secret`}, 'default = "devbox"');
	expect(await onTerminal(TELL, file)).toEqual({code: 0, output: `on devbox (ws://127.0.0.1:${port}/)\r\ndevbox\r\n`});
	expect((await onTerminal(['run', '-q', ...TELL.slice(1)], file)).output).toBe('devbox\r\n');
	expect((await onTerminal(['run', '-e', 'devbox', ...TELL.slice(1)], file)).output).toBe('devbox\r\n');
	expect((await onTerminal(['run', '-e', 'local', ...TELL.slice(1)], file)).output).toBe('here\r\n');
	const byUrl = await onTerminal(TELL, {LONGARM_EXEC_SERVER_URL: `ws://user:secret@127.0.0.1:${port}`});
	expect(byUrl.output).toBe(`on ws://127.0.0.1:${port}/\r\ndevbox\r\n`);
});

test('without a default there is none, and nothing runs on this machine instead', async () => {
	const mark = join(scratchDirectory(), 'mark');
	for (const env of [home({}, 'default = "none"'), {LONGARM_EXEC_SERVER_URL: 'none'}, {LONGARM_ENVIRONMENT: 'none'}]) {
		const {code, stderr} = await run(['run', '--', 'touch', mark], env);
		expect([code, stderr]).toEqual([125, expect.stringMatching(/^error: there is no default environment: .* -e, /)]);
	}
	expect(() => readFileSync(mark)).toThrow('ENOENT');
	const wrong = await run(TELL, {LONGARM_EXEC_SERVER_URL: 'http://127.0.0.1:1'});
	expect(wrong.stderr).toMatch(/^error: environment url `http:\/\/127.0.0.1:1` must use ws:\/\/ or wss:\/\//);
});

test('ls and cat read the default environment, cp copies local paths, and :PATH, put and get go to the default', async () => {
	const root = scratchDirectory();
	for (const name of ['there', 'here']) mkdirSync(join(root, name));
	writeFileSync(join(root, 'file'), 'text');
	const command = `cmd:cd ${join(root, 'there')} && exec ${process.execPath} ${PROGRAM} serve --listen stdio --log-level silent`;
	const env = {LONGARM_ENVIRONMENT: command};
	const at = (name: string) => join(root, name);
	expect(await run(['put', at('file')], env)).toMatchObject({code: 0, stderr: ''});
	expect(await run(['ls'], env)).toMatchObject({code: 0, stdout: 'file\n', stderr: ''});
	expect(await run(['cat', 'file'], env)).toMatchObject({code: 0, stdout: 'text', stderr: ''});
	expect(await run(['cp', ':file', at('here/copied')], env)).toMatchObject({code: 0, stderr: ''});
	expect(await run(['get', 'file', at('here/got')], env)).toMatchObject({code: 0, stderr: ''});
	expect((await run(['ls', `local:${at('here')}`], env)).stdout).toBe('copied\ngot\n');
	expect((await run(['ls', '-e', 'local', at('here')], env)).stdout).toBe('copied\ngot\n');
});

/** Lines of environments that are marked as the default. */
async function list(env: Record<string, string>): Promise<string[] | null> {
	return (await run(['env', 'list'], env)).stdout.match(/^\* .*$/gm);
}

test('env list marks the default and says what makes it that', async () => {
	const file = home({one: 'ws://127.0.0.1:1', two: 'ws://127.0.0.1:2'}, 'default = "one"');
	expect(await list(file)).toEqual(['* one    ws://127.0.0.1:1  (the default by environments.toml)']);
	expect(await list({...file, LONGARM_ENVIRONMENT: 'two'})).toEqual([
		'* two    ws://127.0.0.1:2  (the default by LONGARM_ENVIRONMENT)',
	]);
	const url = {LONGARM_EXEC_SERVER_URL: 'ws://127.0.0.1:3'};
	expect(await list({...file, ...url})).toEqual([
		'* ws://127.0.0.1:3  ws://127.0.0.1:3  (the default by LONGARM_EXEC_SERVER_URL)',
	]);
	expect(await list(url)).toEqual(['* remote  ws://127.0.0.1:3  (the default by LONGARM_EXEC_SERVER_URL)']);
	expect(await list({...file, LONGARM_ENVIRONMENT: 'none'})).toEqual(null);
	expect(await list({...file, LONGARM_ENVIRONMENT: 'gone'})).toEqual([
		'* gone   unknown  (the default by LONGARM_ENVIRONMENT)',
	]);
	const rows = JSON.parse((await run(['env', 'list', '--json'], file)).stdout) as object[];
	expect(rows[1]).toEqual({
		name: 'one',
		default: true,
		defaultBy: 'environments.toml',
		kind: 'websocket',
		url: 'ws://127.0.0.1:1',
		hasToken: false,
	});
});

test('a name that is nearly one is asked about, and so is a colon that was forgotten', async () => {
	const file = home({devbox: 'ws://127.0.0.1:1'});
	const said = async (...args: string[]) => (await run(args, file)).stderr.split('\n', 1)[0];
	const unknown = '; did you mean `devbox`? known are local, devbox';
	expect(await said('run', '-e', 'debvox', '--', 'true')).toBe(`error: unknown environment \`debvox\`${unknown}`);
	expect(await said('cp', 'package.json', 'devbx:/tmp')).toBe(`error: unknown environment \`devbx\`${unknown}`);
	expect(await said('ls', 'devbox')).toBe('error: devbox: No such file or directory; did you mean `devbox:`?');
	expect(await said('cat', 'devbox/etc/hosts')).toMatch(/did you mean `devbox:\/etc\/hosts`\?$/);
	const copied = await run(['cp', 'package.json', 'devbox'], file);
	expect([copied.code, copied.stderr]).toEqual([
		2,
		expect.stringMatching(/^error: .* did you mean `devbox:`\? .*\.\/devbox/),
	]);
	expect(await said('run', '-e', 'zzz', '--', 'true')).toBe(
		'error: unknown environment `zzz`; known are local, devbox',
	);
});

test('a file here with a colon in its name is told how to be written', async () => {
	const root = scratchDirectory();
	writeFileSync(join(root, 'a:b'), 'text');
	const inside = (address: string) =>
		run(['run', '--cwd', root, '--', process.execPath, PROGRAM, 'cat', address], {LONGARM_HOME: '/nonexistent'});
	expect((await inside('a:b')).stderr).toMatch(
		/^error: unknown environment `a`; .*; the file here is written \.\/a:b\n/,
	);
	expect(await inside('./a:b')).toMatchObject({code: 0, stdout: 'text'});
});
