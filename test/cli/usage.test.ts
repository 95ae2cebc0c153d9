import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {COMMANDS, GROUPS, SECTIONS} from '../../src/cli/commands/command-list.js';
import {SETTINGS, variableOf} from '../../src/cli/commands/serve/serve-settings.js';
import {VERSION} from '../../src/shared/version.js';
import {Command, run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';

const SEE_SETTINGS = 'hint: See longarm serve --help for every setting, its unit and its default.\n';

test('the version is that of the package, everywhere', async () => {
	const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
	const {version} = JSON.parse(text) as {version: string};
	expect(VERSION).toBe(version);
	for (const flag of ['--version', '-V']) {
		expect(await run([flag])).toEqual({code: 0, signal: null, stdout: `${version}\n`, stderr: ''});
	}
});

test.each([[['--help']], [['-h']], [['help']], [[]]])('%j shows the commands', async args => {
	const {code, stdout, stderr} = await run(args);
	expect([code, stderr]).toEqual([0, '']);
	expect(stdout).toMatch(/^Usage: longarm /);
	expect(stdout).toContain('serve');
});

test.each([[['serve', '--help']], [['help', 'serve']]])('%j shows every setting with its default', async args => {
	const {code, stdout: text, stderr} = await run(args);
	expect([code, stderr]).toEqual([0, '']);
	for (const line of text.split('\n')) expect(line.startsWith('  longarm ') ? '' : line).toMatch(/^.{0,80}$/);
	const stdout = text.replaceAll(/\s+/g, ' ');
	for (const [name, {kind, fallback, help}] of Object.entries(SETTINGS)) {
		const shown = (kind.format as (value: unknown) => string)(fallback);
		expect(stdout).toMatch(new RegExp(`--${name}\\b`));
		expect(stdout).toContain(`${help} (default: ${shown})`);
	}
	expect(stdout).toContain('--config <FILE>');
	expect(stdout).toContain(variableOf('config'));
});

test('every command is in a section of the help, and its own help names what it takes', async () => {
	const {stdout} = await run(['--help']);
	const names = SECTIONS.flatMap(section => section.names);
	for (const {name} of [...COMMANDS, ...GROUPS].filter(({name: each}) => !each.includes(' '))) {
		expect(names).toContain(name);
		expect(stdout).toMatch(new RegExp(`^  ${name} {2,}\\S`, 'm'));
	}
	expect(stdout).toMatch(/\nExamples:\n(?: {2}.*\n){3}$/);
	for (const {name, options = [], arguments: taken = [], examples} of COMMANDS) {
		const {code, stdout: help} = await run(['help', ...name.split(' ')]);
		expect(code).toBe(0);
		for (const word of [...options.map(({flags}) => flags), ...taken.map(each => each.name)])
			expect(help).toContain(word);
		for (const {command} of examples) expect(help).toContain(`  ${command}`);
	}
});

test('help that nobody reads to its end is no failure', async () => {
	const command = new Command(['serve', '--help'], {ownStdout: true});
	command.child.stdout.destroy();
	expect([await command.ended, command.stderr]).toEqual([{code: 0, signal: null}, '']);
});

test.each<[string[], string]>([
	[['no-such', '--help'], "error: unknown command 'no-such'; see longarm --help\n"],
	[['help', 'no-such'], "error: unknown command 'no-such'; see longarm --help\n"],
	[['no-such'], "error: unknown command 'no-such'; see longarm --help\n"],
	[['server'], "error: unknown command 'server' (Did you mean serve?); see longarm --help\n"],
	[['rnu', '--help'], "error: unknown command 'rnu' (Did you mean run?); see longarm --help\n"],
	[['help', 'rnu'], "error: unknown command 'rnu' (Did you mean run?); see longarm --help\n"],
	[['rnu', '-h', '--', 'make'], "error: unknown command 'rnu' (Did you mean run?); see longarm --help\n"],
	[['tail'], "error: unknown command 'tail'; see longarm --help\n"],
	[
		['serve-forward', '--help'],
		"error: unknown command 'serve-forward' (Did you mean serve forward?); see longarm --help\n",
	],
	[['help', 'env', 'lsit'], "error: unknown command 'env lsit' (Did you mean env list?); see longarm env --help\n"],
	[['env', 'lsit', '--help'], "error: unknown command 'env lsit' (Did you mean env list?); see longarm env --help\n"],
	[['job', 'stauts'], "error: unknown command 'job stauts' (Did you mean job status?); see longarm job --help\n"],
	[
		['serve', 'forwrad', '--help'],
		"error: unknown command 'serve forwrad' (Did you mean serve forward?); see longarm serve --help\n",
	],
	[['serve', 'extra', '--help'], "error: unknown command 'serve extra'; see longarm serve --help\n"],
	[['help', 'run', 'make'], "error: unknown command 'run make'; see longarm run --help\n"],
	[['--no-such'], "error: unknown option '--no-such'; see longarm --help\n"],
	[['serve', '--no-such'], "error: unknown option '--no-such'; see longarm serve --help\n"],
	[['serve', '--listen'], "error: option '--listen <URL>' argument missing; see longarm serve --help\n"],
	[
		['serve', 'extra'],
		"error: too many arguments for 'serve'. Expected 0 arguments but got 1; see longarm serve --help\n",
	],
	[
		['serve', '--listen', 'http://127.0.0.1:80'],
		`error: unsupported --listen URL \`http://127.0.0.1:80\`; expected \`ws://IP:PORT\` or \`stdio\`\n${SEE_SETTINGS}`,
	],
	[
		['serve', '--listen', 'ws://localhost:0'],
		`error: invalid websocket --listen URL \`ws://localhost:0\`; expected \`ws://IP:PORT\`\n${SEE_SETTINGS}`,
	],
	[
		['serve', '--listen', 'ws://127.0.0.1'],
		`error: invalid websocket --listen URL \`ws://127.0.0.1\`; expected \`ws://IP:PORT\`\n${SEE_SETTINGS}`,
	],
	[
		['serve', '--listen', 'ws://0.0.0.0:0'],
		'error: refusing to listen on 0.0.0.0: without authentication anybody who reaches it can run programs here\n' +
			'hint: Use a loopback address such as ws://127.0.0.1:0, or let only holders of a token in with --ws-auth.\n',
	],
	[
		['serve', '--listen', 'ws://[::]:0'],
		'error: refusing to listen on ::: without authentication anybody who reaches it can run programs here\n' +
			'hint: Use a loopback address such as ws://127.0.0.1:0, or let only holders of a token in with --ws-auth.\n',
	],
	[
		['serve', '--retain-bytes', 'lots'],
		`error: --retain-bytes: expected a size such as 1048576, 512KiB or 8MiB, got \`lots\`\n${SEE_SETTINGS}`,
	],
	[
		['serve', '--log-level', 'loud'],
		`error: --log-level: expected one of debug, info, warn, error, silent, auto, got \`loud\`\n${SEE_SETTINGS}`,
	],
])('longarm %j is misused: one line says how, and the exit code is 2', async (args, stderr) => {
	expect(await run(args)).toEqual({code: 2, signal: null, stdout: '', stderr});
});

const TOKEN_HINT =
	'hint: Use a token of the hub: --token-file FILE, --registration-bearer-stdin, --executor-credential-stdin or CODEX_API_KEY.\n';

test.each<[option: string, reason: string, hint: string]>([
	['--chatgpt-token-stdin', "a ChatGPT login can be checked by OpenAI's own service only", TOKEN_HINT],
	['--chatgpt-account-id=acct', "a ChatGPT login can be checked by OpenAI's own service only", TOKEN_HINT],
	['--use-agent-identity-auth', "an agent identity can be checked by OpenAI's own service only", TOKEN_HINT],
	['--aws-sigv4', 'it belongs to the transport `direct`, which is not end-to-end encrypted', TOKEN_HINT],
	[
		'--linux-sandbox-pid-namespace=inherit',
		'a sandboxed process gets a PID namespace of its own wherever the machine allows it',
		'hint: Leave the option out; a command that must see other processes has to run without a sandbox.\n',
	],
	[
		'--proxy-private-ips-via-upstream',
		'longarm starts no network proxy for sandboxed processes',
		'hint: Set HTTP_PROXY, HTTPS_PROXY and NO_PROXY: they apply to the HTTP requests that clients send through this server.\n',
	],
])('the option %s of codex is refused with the reason and a replacement', async (option, reason, hint) => {
	const stderr = `error: ${option.split('=')[0]} is not supported: ${reason}\n${hint}`;
	for (const command of [['serve'], ['serve', 'forward', '--connect', 'ws://127.0.0.1:1']]) {
		const args = [...command, '--remote', 'http://127.0.0.1:1', '--environment-id', 'a', option];
		expect(await run(args)).toEqual({code: 2, signal: null, stdout: '', stderr});
	}
	expect((await run(['run', option])).stderr).toContain(`unknown option '${option}'`);
});

test('options of codex without an effect are taken, and unknown settings in a file are errors all the same', async () => {
	const server = new Command(['serve', '--concurrent-requests', '4', '--strict-config', '--remote-transport', 'noise']);
	expect(await server.url()).toMatch(/^ws:/);
	const file = join(scratchDirectory(), 'settings.toml');
	writeFileSync(file, 'colour = "red"\n');
	for (const strict of [[], ['--strict-config']]) {
		const refused = await run(['serve', '--config', file, ...strict]);
		expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('unknown setting `colour`')]);
	}
});

test('a bad variable and a bad settings file are named', async () => {
	const file = join(scratchDirectory(), 'settings.toml');
	expect(await run(['serve'], {LONGARM_RETAIN_CHUNKS: '-1'})).toEqual({
		code: 2,
		signal: null,
		stdout: '',
		stderr: `error: LONGARM_RETAIN_CHUNKS: expected a positive whole number, got \`-1\`\n${SEE_SETTINGS}`,
	});
	writeFileSync(file, 'listen = "ws://127.0.0.1:0"\nretain_bytes = = 1\n');
	const broken = await run(['serve', '--config', file]);
	expect([broken.code, broken.stdout]).toEqual([2, '']);
	expect(broken.stderr).toMatch(/^error: cannot read settings from (.*):2:16: \S.*\nhint: .*\n$/);
	expect(broken.stderr).toContain(`${file}:2:16`);
	writeFileSync(file, 'retain-bytes = 1\n');
	const unknown = await run(['serve'], {LONGARM_CONFIG: file});
	expect(unknown.code).toBe(2);
	expect(unknown.stderr).toMatch(/^error: .*: unknown setting `retain-bytes`; known are listen, .*\nhint: .*\n$/);
	const missing = await run(['serve', '--config', '/no/such']);
	expect(missing.code).toBe(2);
	expect(missing.stderr).toMatch(/^error: cannot read settings from \/no\/such: ENOENT.*\nhint: .*\n$/);
});

test('a port that is taken is a failure of its own', async () => {
	const first = new Command(['serve', '--log-level', 'silent']);
	const url = await first.url();
	const second = await run(['serve', '--listen', url]);
	expect([second.code, second.stdout]).toEqual([1, '']);
	expect(second.stderr).toMatch(/^error: listen EADDRINUSE: .*\n$/);
});
