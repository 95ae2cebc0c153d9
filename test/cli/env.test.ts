import {mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, type Finished, run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';

interface Home {
	readonly path: string;
	readonly file: string;
	readonly text: () => string;
	readonly longarm: (...args: string[]) => Promise<Finished>;
}

function home(text?: string): Home {
	const path = join(scratchDirectory(), 'home');
	const file = join(path, 'environments.toml');
	if (text !== undefined) {
		mkdirSync(path);
		writeFileSync(file, text, {mode: 0o600});
	}
	return {
		path,
		file,
		text: () => readFileSync(file, 'utf8'),
		longarm: (...args) => run(args, {LONGARM_HOME: path}),
	};
}

const WRITTEN = `# Mine.
include_local = true   # of course

# The quick one.
[[environments]]
id = "quick"
url = "ws://user:secret@127.0.0.1:1/?token=secret"
auth_bearer_token = 'secret'

# The other one.
[[environments]]
id = "other"
program = "ssh"
args = ["other", "longarm serve"]
`;

test('environments are added, listed and removed, and the file is for its owner only', async () => {
	const {file, path, longarm} = home();
	const added = await longarm('env', 'add', 'devbox', 'ws://127.0.0.1:4500');
	expect(added).toEqual({code: 0, signal: null, stdout: `devbox added to ${file}\n`, stderr: ''});
	await longarm('env', 'add', 'shell', 'cmd:ssh box "longarm serve"');
	await longarm('env', 'add', 'program', '--cwd', '/srv', '--default', '--', 'ssh', 'box', 'a b', '--listen', 'stdio');
	expect((await longarm('env', 'list')).stdout).toBe(
		[
			'  local    this machine',
			'  devbox   ws://127.0.0.1:4500',
			`  shell    /bin/sh -c 'ssh box "longarm serve"'`,
			"* program  ssh box 'a b' --listen stdio (in /srv)  (the default by environments.toml)",
			'',
		].join('\n'),
	);
	const listed = JSON.parse((await longarm('env', 'list', '--json')).stdout) as unknown[];
	expect(listed[3]).toEqual({
		name: 'program',
		default: true,
		defaultBy: 'environments.toml',
		kind: 'command',
		program: 'ssh',
		args: ['box', 'a b', '--listen', 'stdio'],
		cwd: '/srv',
	});
	expect([statSync(file).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o600, 0o700]);
	const removed = await longarm('env', 'remove', 'program');
	expect([removed.code, removed.stderr]).toEqual([0, 'note: program was the default; there is none of your own now\n']);
	expect((await longarm('env', 'list')).stdout).toMatch(/^\* local {3}this machine\n {2}devbox .*\n {2}shell .*\n$/);
	expect(readdirSync(path)).toEqual(['environments.toml']);
});

test('what a person wrote survives: comments, layout and links', async () => {
	const {file, path, text, longarm} = home(WRITTEN);
	await longarm('env', 'add', 'new', 'wss://new.example/');
	const added = `${WRITTEN}\n[[environments]]\nid = "new"\nurl = "wss://new.example/"\n`;
	expect(text()).toBe(added);
	expect(statSync(file).mode & 0o777).toBe(0o600);
	await longarm('env', 'remove', 'quick');
	const start = added.indexOf('# The quick one.');
	expect(text()).toBe(added.slice(0, start) + added.slice(added.indexOf('# The other one.')));
	const other = scratchDirectory();
	symlinkSync(file, join(other, 'environments.toml'));
	await run(['env', 'remove', 'new'], {LONGARM_HOME: other});
	expect(text()).not.toContain('new.example');
	expect(readdirSync(path)).toEqual(['environments.toml']);
});

test('a token comes from a file or from stdin, goes into the file, and is never shown', async () => {
	const {file, path, text, longarm} = home();
	const tokenFile = join(scratchDirectory(), 'token');
	writeFileSync(tokenFile, 'from-a-file\n', {mode: 0o600});
	await longarm('env', 'add', 'one', 'wss://one.example/', '--token-file', tokenFile);
	const piped = new Command(['env', 'add', 'two', 'wss://two.example/', '--token-file', '-'], {
		env: {LONGARM_HOME: path},
	});
	piped.child.stdin.end('from-stdin\n');
	expect(await piped.ended).toEqual({code: 0, signal: null});
	expect(text()).toContain('auth_bearer_token = "from-a-file"');
	expect(text()).toContain('auth_bearer_token = "from-stdin"');
	const {stdout} = await longarm('env', 'list');
	expect(stdout).toContain('two    wss://two.example/ (with a token)\n');
	expect(stdout + (await longarm('env', 'list', '--json')).stdout).not.toMatch(/from-/);
	writeFileSync(file, WRITTEN);
	const all = [await longarm('env', 'list'), await longarm('env', 'list', '--json'), await longarm('env', 'test')];
	for (const {stdout: shown, stderr} of all) expect(shown + stderr).not.toContain('secret');
});

test.each<[string[], RegExp]>([
	[['add', 'quick', 'ws://127.0.0.1:2'], /there is an environment `quick` already/],
	[['add', 'local', 'ws://127.0.0.1:2'], /`local` is reserved/],
	[['add', 'a b', 'ws://127.0.0.1:2'], /`a b` must contain only ASCII letters/],
	[['add', 'x', 'http://127.0.0.1:2'], /must use ws:\/\/ or wss:\/\//],
	[
		['add', 'x', 'box'],
		/`box` is neither a ws:\/\/ or wss:\/\/ URL nor registry\+https:\/\/HUB\/ID nor unix:PATH nor cmd:COMMAND; a program goes behind --/,
	],
	[['add', 'x', 'cmd: '], /cmd: needs a command/],
	[['add', 'x', 'ws://127.0.0.1:2', '--token-file', '/no/such'], /cannot read the token: ENOENT/],
	[['add', 'x', 'ws://127.0.0.1:2', '--token-file', '/dev/null'], /there is no token in \/dev\/null/],
	[['add', 'x', '--token-file', '/dev/null', '--', 'ssh'], /a token goes with a URL only/],
	[['add', 'x', 'ws://127.0.0.1:2', '--cwd', '/'], /--cwd goes with a program only/],
	[['remove', 'nope'], /no environment `nope` in .*; known are quick, other/],
	[['test', 'nope'], /unknown environment `nope`; known are local, quick, other/],
])('longarm env %j is refused, and the file stays as it was', async (args, reason) => {
	const {text, longarm} = home(WRITTEN);
	const {code, stdout, stderr} = await longarm('env', ...args);
	expect([code, stdout]).toEqual([2, '']);
	expect(stderr).toMatch(reason);
	expect(stderr).toMatch(/^error: .*\nhint: .*\n$/);
	expect(text()).toBe(WRITTEN);
});

test('a file that is laid out in another way is left to its owner', async () => {
	const inline = 'environments = [{id = "a", url = "ws://127.0.0.1:1"}]\n';
	const {text, longarm} = home(inline);
	for (const args of [
		['add', 'b', 'ws://127.0.0.1:1'],
		['remove', 'a'],
	]) {
		const {code, stderr} = await longarm('env', ...args);
		expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be edited for you; edit it by hand') as string]);
	}
	expect(text()).toBe(inline);
});

test('a test says who answers, and fails with the reasons of those who do not', async () => {
	const {url} = await serving({allowForward: 'loopback'});
	const {longarm} = home(
		[
			`[[environments]]\nid = "here"\nurl = "${url}"\n`,
			'[[environments]]\nid = "gone"\nurl = "ws://127.0.0.1:1"\n',
			'[[environments]]\nid = "mute"\nprogram = "/bin/sh"\nargs = ["-c", "exec 0<&-; echo no such host >&2; exit 255"]\n',
		].join('\n'),
	);
	const {code, stdout} = await longarm('env', 'test');
	expect(code).toBe(1);
	expect(stdout).toMatch(
		new RegExp(
			[
				String.raw`^ok {6}local {2}longarm [\d.]+, linux \S+, /\S+, [\d.]+ ms`,
				String.raw`ok {6}here {3}longarm [\d.]+, linux \S+, /\S+, [\d.]+ ms`,
				'FAILED {2}gone {3}failed to connect .*ECONNREFUSED.*',
				' {15}hint: Check the address.*',
				'FAILED {2}mute {3}.*the command said: no such host\n$',
			].join('\n'),
		),
	);
	const one = await longarm('env', 'test', 'here', '--json');
	expect([one.code, one.stderr]).toEqual([0, '']);
	expect(JSON.parse(one.stdout)).toEqual([
		{
			name: 'here',
			reachable: true,
			server: 'longarm',
			version: expect.any(String) as string,
			protocol: 'current',
			os: 'linux',
			arch: expect.any(String) as string,
			shell: expect.stringMatching(/^\//) as string,
			roundTripMs: expect.any(Number) as number,
			cannot: [],
		},
	]);
});

test('a test says what a server cannot do', async () => {
	const {url} = await serving();
	const {code, stdout} = await home().longarm('env', 'test', url);
	expect(code).toBe(0);
	expect(stdout).toMatch(/\n +cannot forward ports\n$/);
});

test('a variable that counts before a new default is mentioned', async () => {
	const {path} = home();
	const env = {LONGARM_HOME: path, LONGARM_EXEC_SERVER_URL: 'ws://127.0.0.1:1'};
	expect((await run(['env', 'list'], env)).stdout).toMatch(/^\* remote {2}ws:\/\/127.0.0.1:1 /);
	expect((await run(['env', 'add', 'a', 'ws://127.0.0.1:2'], env)).stderr).toBe('');
	const {stderr} = await run(['env', 'add', 'b', 'ws://127.0.0.1:2', '--default'], env);
	expect(stderr).toBe('note: LONGARM_EXEC_SERVER_URL is set, which counts before the default\n');
});

test('a group without a command says where its commands are', async () => {
	const {code, stderr} = await home().longarm('env');
	expect([code, stderr]).toEqual([2, 'error: no command given; see longarm env --help\n']);
});

test('labels are written into the entry, listed and removed with it', async () => {
	const {text, longarm} = home('# Mine.\n');
	const added = await longarm('env', 'add', 'web1', 'ws://127.0.0.1:1', '--label', 'role=web', '--label', 'a.b/c=1');
	expect(added.code).toBe(0);
	await longarm('env', 'add', 'plain', 'ws://127.0.0.1:2');
	expect(text()).toContain('url = "ws://127.0.0.1:1"\nlabels = { role = "web", "a.b/c" = "1" }\n');
	expect((await longarm('env', 'list')).stdout).toContain('  web1   ws://127.0.0.1:1  [role=web a.b/c=1]\n');
	const listed = JSON.parse((await longarm('env', 'list', '--json')).stdout) as {labels?: unknown}[];
	expect(listed.map(({labels}) => labels)).toEqual([undefined, {role: 'web', 'a.b/c': '1'}, undefined]);
	for (const wrong of ['role', '=web']) {
		const refused = await longarm('env', 'add', 'x', 'ws://127.0.0.1:3', '--label', wrong);
		expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('expected KEY=VALUE')]);
	}
	const refused = await longarm('env', 'add', 'x', 'ws://127.0.0.1:3', '--label', 'role=a b');
	expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('has the label `role=a b`; keys and')]);
	await longarm('env', 'remove', 'web1');
	await longarm('env', 'remove', 'plain');
	expect(text()).toBe('# Mine.\n');
});
