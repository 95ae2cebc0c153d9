import {chmodSync, mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {inspect} from 'node:util';
import {expect, test} from 'vitest';
import {parseEnvironments} from '../../../src/environments/config/environments-file.js';
import {FileProvider} from '../../../src/environments/config/file-provider.js';
import {LongarmError} from '../../../src/shared/errors.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const PATH = '/home/somebody/.longarm/environments.toml';
const environment = (...lines: string[]): string => ['[[environments]]', ...lines].join('\n');

test('every key of the file is understood', () => {
	const text = `
		default = "devbox"
		include_local = false

		[[environments]]
		id = "devbox"
		url = "wss://devbox.example:8443/"
		auth_bearer_token = "secret"
		connect_timeout_sec = 5.5
		initialize_timeout_sec = 2
		skills = { required = ["a"] }

		[[environments]]
		id = "ssh-dev"
		program = "ssh"
		args = ["dev", "longarm serve --listen stdio"]
		env = { LOG = "debug" }
		cwd = "work"
	`;
	expect(parseEnvironments(text, PATH)).toEqual({
		defaultId: 'devbox',
		includesLocal: false,
		remotes: new Map<string, unknown>([
			[
				'devbox',
				{
					kind: 'websocket',
					url: 'wss://devbox.example:8443/',
					token: 'secret',
					connectTimeoutMs: 5500,
					initializeTimeoutMs: 2000,
				},
			],
			[
				'ssh-dev',
				{
					kind: 'command',
					program: 'ssh',
					args: ['dev', 'longarm serve --listen stdio'],
					env: {LOG: 'debug'},
					cwd: '/home/somebody/.longarm/work',
					initializeTimeoutMs: undefined,
				},
			],
		]),
	});
});

const DEFAULTS: [string, string, string | undefined][] = [
	['this machine when nothing is said', '', 'local'],
	['nothing when this machine is left out', 'include_local = false', undefined],
	['nothing when it says so', 'default = "NONE"', undefined],
	['what it says', 'default = " local "', 'local'],
];

test.each(DEFAULTS)('the default is %s', (_, text, expected) => {
	expect(parseEnvironments(text, PATH).defaultId).toBe(expected);
});

const url = 'url = "ws://127.0.0.1:1"';
const FAULTS: [string, string][] = [
	[environment('id = ""', url), 'environment id cannot be empty'],
	[environment('id = " a"', url), 'environment id ` a` must not contain surrounding whitespace'],
	[environment('id = "local"', url), 'environment id `local` is reserved'],
	[environment('id = "none"', url), 'environment id `none` is reserved'],
	[
		environment(`id = "${'a'.repeat(65)}"`, url),
		`environment id \`${'a'.repeat(65)}\` cannot be longer than 64 characters`,
	],
	[environment('id = "ä"', url), "environment id `ä` must contain only ASCII letters, numbers, '-' or '_'"],
	[`${environment('id = "a"', url)}\n${environment('id = "a"', url)}`, 'environment id `a` is duplicated'],
	[environment('id = "a"', url, 'args = []'), 'environment `a` args, env, and cwd require program'],
	[environment('id = "a"', url, 'env = {}'), 'environment `a` args, env, and cwd require program'],
	[environment('id = "a"', 'cwd = "x"'), 'environment `a` args, env, and cwd require program'],
	[
		environment('id = "a"', 'program = "x"', 'connect_timeout_sec = 1'),
		'environment `a` connect_timeout_sec requires url',
	],
	[
		environment('id = "a"', 'program = "x"', 'auth_bearer_token = "t"'),
		'environment `a` auth_bearer_token requires url',
	],
	[environment('id = "a"'), 'environment `a` must set exactly one of url or program'],
	[environment('id = "a"', url, 'program = "x"'), 'environment `a` must set exactly one of url or program'],
	[environment('id = "a"', 'program = " "'), 'environment `a` program cannot be empty'],
	[environment('id = "a"', 'url = " "'), 'environment url cannot be empty'],
	[
		environment('id = "a"', 'url = "http://x"'),
		'environment url `http://x` must use ws:// or wss:// or registry+https:// or registry+http://',
	],
	[environment('id = "a"', 'url = "ws://"'), 'environment url `ws://` is invalid: Invalid URL'],
	['default = " "', 'default environment id cannot be empty'],
	['default = "b"', 'default environment `b` is not configured'],
	['include_local = false\ndefault = "local"', 'default environment `local` is not configured'],
];

const HUB = 'url = "registry+https://hub.example/devbox"';
const KEY = `sha256:${'0a'.repeat(32)}`;

test('a machine behind a hub has a token, a key and trust of its own', () => {
	const lines = ['id = "a"', HUB, 'auth_bearer_token = "secret"', `executor_key = "${KEY}"`, 'ca_file = "hub.pem"'];
	expect(parseEnvironments(environment(...lines), PATH).remotes.get('a')).toEqual({
		kind: 'registry',
		url: 'registry+https://hub.example/devbox',
		token: 'secret',
		executorKey: KEY,
		tls: {caFile: '/home/somebody/.longarm/hub.pem'},
	});
	const refused: [string[], string][] = [
		[[HUB, 'executor_key = "sha256:1"'], '`sha256:1` is no key of an executor'],
		[['url = "ws://127.0.0.1:1"', `executor_key = "${KEY}"`], 'goes with a registry+https:// URL only'],
		[['program = "x"', `executor_key = "${KEY}"`], 'environment `a` executor_key requires url'],
		[['url = "registry+https://hub.example/"'], 'expected registry+https://HUB/ID'],
		[['url = "registry+http://hub.example/a"', 'ca_file = "x"'], 'or one with registry+https://'],
	];
	for (const [keys, text] of refused) {
		expect(() => parseEnvironments(environment('id = "a"', ...keys), PATH)).toThrow(text);
	}
});

test.each(FAULTS)('%j is refused', (text, message) => {
	expect(() => parseEnvironments(text, PATH)).toThrow(expect.objectContaining({code: 'ENVIRONMENT_INVALID', message}));
});

const UNPARSABLE: [string, string][] = [
	['defualt = "a"', 'unknown field `defualt`, expected one of default, include_local, environments'],
	[environment('id = "a"', 'uri = "x"'), 'unknown field `uri` of environment 1, expected one of id, url'],
	[environment(url), 'missing field `environments.0.id`'],
	['include_local = "yes"', 'invalid type: string, expected a boolean at `include_local`'],
	[environment('id = "a"', url, 'connect_timeout_sec = -1'), 'expected a non-negative number of seconds'],
	[environment('id = "a"', url, 'initialize_timeout_sec = inf'), 'initialize_timeout_sec'],
	['default = ', 'line 1, column'],
];

test.each(UNPARSABLE)('%j cannot be parsed, and the message says where', (text, reason) => {
	const parse = (): unknown => parseEnvironments(text, PATH);
	expect(parse).toThrow(`failed to parse environment config \`${PATH}\`: `);
	expect(parse).toThrow(reason);
});

test('a file with a fault next to a token does not show the token', () => {
	const text = environment('id = "a"', 'auth_bearer_token = "hunter2"', 'url = oops');
	const error = thrownBy(() => parseEnvironments(text, PATH));
	expect(error).toBeInstanceOf(LongarmError);
	expect(inspect(error, {depth: 9})).not.toContain('hunter2');
});

function thrownBy(act: () => unknown): unknown {
	try {
		return act();
	} catch (error) {
		return error;
	}
}

test('a missing file is no file, and one that cannot be read is an error', async () => {
	const home = scratchDirectory();
	expect(await new FileProvider(home).snapshot()).toBeUndefined();
	mkdirSync(join(home, 'environments.toml'));
	await expect(new FileProvider(home).snapshot()).rejects.toThrow(
		`failed to read environment config \`${join(home, 'environments.toml')}\`: `,
	);
});

test('a file in the home directory is found', async () => {
	const home = scratchDirectory();
	writeFileSync(join(home, 'environments.toml'), environment('id = "a"', url));
	chmodSync(home, 0o700);
	expect([...(await new FileProvider(home).snapshot())!.remotes.keys()]).toEqual(['a']);
});

test('labels are read, and those that no selector could name are refused', () => {
	const labels = (text: string): string => environment('id = "a"', 'url = "ws://a"', `labels = ${text}`);
	expect(parseEnvironments(labels('{os = "linux", "app.io/tier" = "1"}'), PATH).labels).toEqual(
		new Map([['a', {os: 'linux', 'app.io/tier': '1'}]]),
	);
	expect(parseEnvironments(environment('id = "a"', 'url = "ws://a"'), PATH).labels).toBeUndefined();
	const allowed = "keys and values are 1 to 64 ASCII letters, digits, '.', '_', '-' or '/'";
	for (const [text, shown] of [
		['{os = ""}', 'os='],
		['{os = "a,b"}', 'os=a,b'],
		['{"a+b" = "c"}', 'a+b=c'],
		[`{os = "${'x'.repeat(65)}"}`, `os=${'x'.repeat(65)}`],
	] as const) {
		expect(() => parseEnvironments(labels(text), PATH)).toThrow(
			`environment \`a\` has the label \`${shown}\`; ${allowed}`,
		);
	}
	const many = Array.from({length: 65}, (_label, at) => `k${at} = "v"`).join(', ');
	expect(() => parseEnvironments(labels(`{${many}}`), PATH)).toThrow('has 65 labels; 64 are allowed');
	expect(() => parseEnvironments(labels('{os = 1}'), PATH)).toThrow('failed to parse environment config');
});
