import {readFileSync, writeFileSync} from 'node:fs';
import {describe, expect, test} from 'vitest';
import {Command, run} from '../helpers/command.js';
import {request, requestUpgrade} from '../helpers/raw-http.js';
import {clientWith, fileWith, jwt, nowSeconds, sha256} from '../helpers/tokens.js';

const TOKEN = 'hunter2-hunter2-hunter2';
const SECRET = 'correct horse battery staple, signed';
const HINT = 'hint: See docs/security.md for every way to set up tokens.\n';

const capability = (...args: string[]): string[] => ['serve', '--ws-auth', 'capability-token', ...args];
const signed = (...args: string[]): string[] => ['serve', '--ws-auth', 'signed-bearer-token', ...args];

describe('a configuration that cannot be used', () => {
	test.each<[string[], string]>([
		[
			['serve', '--ws-token-file', '/t'],
			'websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`',
		],
		[
			['serve', '--ws-issuer', 'i'],
			'websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`',
		],
		[
			['serve', '--ws-max-clock-skew-seconds', '5', '--listen', 'stdio'],
			'websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`',
		],
		[capability(), '`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set'],
		[
			capability('--ws-token-file', '/t', '--ws-token-sha256', 'x'),
			'`--ws-token-file` and `--ws-token-sha256` are mutually exclusive',
		],
		[
			capability('--ws-token-file', '/t', '--ws-tokens-file', '/u'),
			'`--ws-token-file` and `--ws-tokens-file` are mutually exclusive',
		],
		[capability('--ws-token-sha256', TOKEN), '--ws-token-sha256 must be a 64-character hex SHA-256 digest'],
		[
			capability('--ws-token-sha256', `${sha256(TOKEN)}0`),
			'--ws-token-sha256 must be a 64-character hex SHA-256 digest',
		],
		[
			capability('--ws-token-sha256', sha256(TOKEN), '--ws-audience', 'a'),
			'`--ws-audience` is for `--ws-auth signed-bearer-token` only',
		],
		[
			capability('--ws-token-sha256', sha256(TOKEN), '--listen', 'stdio'),
			'WebSocket auth requires a WebSocket listener, not stdio',
		],
		[signed(), '`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set'],
		[
			signed('--ws-shared-secret-file', '/s', '--ws-token-file', '/t'),
			'`--ws-token-file` is for `--ws-auth capability-token` only',
		],
		[
			capability('--ws-token-file', '/no/such'),
			'failed to read websocket auth secret /no/such: No such file or directory (os error 2)',
		],
	])('%j is told, and the exit code is 1', async (args, message) => {
		expect(await run(args)).toEqual({code: 1, signal: null, stdout: '', stderr: `error: ${message}\n${HINT}`});
	});

	test('the content of a file that cannot be used is not told', async () => {
		const [empty, short] = [fileWith(' \n'), fileWith('too-short')];
		const tokens = fileWith(`[[tokens]]\nname = "n"\nsha256 = "${TOKEN}"\n`);
		expect((await run(capability('--ws-token-file', empty))).stderr).toBe(
			`error: websocket auth secret ${empty} must not be empty\n${HINT}`,
		);
		expect(await run(signed('--ws-shared-secret-file', short))).toMatchObject({
			code: 1,
			stderr: `error: signed websocket bearer secret ${short} must be at least 32 bytes\n${HINT}`,
		});
		expect(await run(capability('--ws-tokens-file', tokens))).toMatchObject({
			code: 1,
			stderr: `error: websocket tokens file ${tokens}: token 1 needs a \`sha256\` of 64 hex digits\n${HINT}`,
		});
	});

	test('a kind of token that does not exist is a misuse', async () => {
		const {code, stderr} = await run(['serve', '--ws-auth', 'password']);
		expect(code).toBe(2);
		expect(stderr).toContain('--ws-auth: expected one of capability-token, signed-bearer-token, got `password`');
	});
});

test('only the token gets in, and the pages need it as well', async () => {
	const command = new Command(capability('--ws-token-file', fileWith(`${TOKEN}\n`)));
	const url = await command.url();
	const client = await clientWith(url, TOKEN);
	await client.sh('p', 'echo in');
	expect((await client.done('p')).stdout).toBe('in\n');
	expect(await requestUpgrade(url)).toEqual([401, 'missing websocket bearer token']);
	expect(await requestUpgrade(url, 'Bearer no')).toEqual([401, 'invalid websocket bearer token']);
	expect(await request(url, 'GET /readyz')).toEqual([200, '']);
	expect(await request(url, 'GET /metrics')).toEqual([401, 'missing websocket bearer token']);
	expect((await request(url, 'GET /healthz', {Authorization: `Bearer ${TOKEN}`}))[1]).toContain('"status":"ok"');
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual({code: 0, signal: null});
});

test('settings of authentication can come from variables', async () => {
	const env = {LONGARM_WS_AUTH: 'capability-token', LONGARM_WS_TOKEN_SHA256: sha256(TOKEN)};
	const url = await new Command(['serve'], {env}).url();
	await clientWith(url, TOKEN);
	expect(await requestUpgrade(url)).toEqual([401, 'missing websocket bearer token']);
});

test('signed tokens are judged by the rules of the flags', async () => {
	const rules = ['--ws-issuer', 'i', '--ws-audience', 'a', '--ws-max-clock-skew-seconds', '0'];
	const command = new Command(signed('--ws-shared-secret-file', fileWith(SECRET), ...rules));
	const url = await command.url();
	const claims = {exp: nowSeconds() + 60, iss: 'i', aud: ['a'], sub: 'ann', scope: 'files'};
	const client = await clientWith(url, jwt(SECRET, claims));
	await expect(client.sh('p', 'true')).rejects.toThrow('process/start needs the scope drive');
	const text = (changed: Record<string, unknown>) =>
		requestUpgrade(url, `Bearer ${jwt(SECRET, {...claims, ...changed})}`);
	expect(await text({exp: nowSeconds() - 2})).toEqual([401, 'expired websocket jwt']);
	expect(await text({nbf: nowSeconds() + 60})).toEqual([401, 'websocket jwt is not valid yet']);
	expect(await text({iss: 'j'})).toEqual([401, 'websocket jwt issuer mismatch']);
	expect(await text({aud: 'b'})).toEqual([401, 'websocket jwt audience mismatch']);
	expect(await requestUpgrade(url, `Bearer ${jwt(`${SECRET}x`, claims)}`)).toEqual([401, 'invalid websocket jwt']);
});

const entry = (name: string, token: string, more = ''): string =>
	`[[tokens]]\nname = "${name}"\nsha256 = "${sha256(token)}"\n${more}\n`;

describe('SIGHUP', () => {
	test('reads the tokens again; connections go on, and a broken file changes nothing', async () => {
		const path = fileWith(entry('one', 'first'));
		const command = new Command(capability('--ws-tokens-file', path));
		const url = await command.url();
		const before = await clientWith(url, 'first');
		writeFileSync(path, entry('two', 'second', 'scopes = ["files"]'));
		command.child.kill('SIGHUP');
		await command.logs('"reloaded"');
		expect(await requestUpgrade(url, 'Bearer first')).toEqual([401, 'invalid websocket bearer token']);
		const after = await clientWith(url, 'second');
		await expect(after.call('process/list')).rejects.toThrow('needs the scope observe');
		await before.sh('p', 'echo still here');
		expect((await before.done('p')).stdout).toBe('still here\n');
		writeFileSync(path, 'tokens = "hunter2');
		command.child.kill('SIGHUP');
		await command.logs('cannot reload, the old one stays');
		await clientWith(url, 'second');
		expect(command.stderr).toMatch(/"what":"tokens","reason":"websocket tokens file .*cannot be read"/);
		expect(command.stderr).not.toContain('hunter2');
	});

	test('reads the secret of signed tokens again', async () => {
		const path = fileWith(SECRET);
		const command = new Command(signed('--ws-shared-secret-file', path));
		const url = await command.url();
		const claims = {exp: nowSeconds() + 60};
		await clientWith(url, jwt(SECRET, claims));
		const other = SECRET.toUpperCase();
		writeFileSync(path, other);
		command.child.kill('SIGHUP');
		await command.logs('"reloaded"');
		expect(await requestUpgrade(url, `Bearer ${jwt(SECRET, claims)}`)).toEqual([401, 'invalid websocket jwt']);
		await clientWith(url, jwt(other, claims));
	});
});

test('whatever tokens were seen, nothing the server writes or shows holds one', async () => {
	const wrong = 'swordfish-swordfish';
	for (const mode of ['capability', 'signed'] as const) {
		const right = mode === 'capability' ? TOKEN : jwt(SECRET, {exp: nowSeconds() + 60, sub: 'ann'});
		const args =
			mode === 'capability'
				? capability('--ws-token-file', fileWith(TOKEN))
				: signed('--ws-shared-secret-file', fileWith(SECRET));
		const command = new Command([...args, '--log-level', 'debug']);
		const url = await command.url();
		const client = await clientWith(url, right);
		await client.sh('p', 'true');
		await client.done('p');
		for (const header of [`Bearer ${wrong}`, wrong, `Basic ${wrong}`, `Bearer ${right}${wrong}`, 'Bearer a.b.c']) {
			expect((await requestUpgrade(url, header))[0]).toBe(401);
			await request(url, 'GET /metrics', {Authorization: header});
		}
		const pages = await Promise.all(
			['/metrics', '/healthz'].map(page => request(url, `GET ${page}`, {Authorization: `Bearer ${right}`})),
		);
		command.child.kill('SIGHUP');
		await command.logs('"reloaded"');
		const commandLine = readFileSync(`/proc/${command.pid}/cmdline`, 'utf8');
		command.child.kill('SIGTERM');
		await command.ended;
		expect(command.stderr).toContain('"not let in"');
		const shown = [command.stdout, command.stderr, commandLine, JSON.stringify(pages)].join('\n');
		for (const secret of [TOKEN, SECRET, wrong, right, sha256(TOKEN), right.split('.').at(-1)!]) {
			expect(shown).not.toContain(secret);
		}
	}
});

test('beyond loopback it listens once tokens are needed, and warns that they travel in clear', async () => {
	const command = new Command(capability('--ws-token-file', fileWith(TOKEN), '--listen', 'ws://0.0.0.0:0'));
	const url = (await command.url()).replace('0.0.0.0', '127.0.0.1');
	await command.logs('tokens travel in clear');
	await clientWith(url, TOKEN);
	expect(await requestUpgrade(url)).toEqual([401, 'missing websocket bearer token']);
});

test('on loopback there is nothing to warn of', async () => {
	const command = new Command(capability('--ws-token-file', fileWith(TOKEN)));
	await clientWith(await command.url(), TOKEN);
	expect(command.stderr).not.toContain('"warn"');
});

test('a refused login is one line of the log that fail2ban can read, and never holds the token', async () => {
	const command = new Command(['serve', '--ws-auth', 'capability-token', '--ws-token-file', fileWith(TOKEN)]);
	const url = await command.url();
	await requestUpgrade(url, 'Bearer wrong-token');
	await request(url, 'GET /metrics?key=hidden');
	await command.until(() => command.stderr.split('"not let in"').length === 3, 'two entries');
	const lines = command.stderr.split('\n').filter(line => line.includes('"not let in"'));
	for (const line of lines)
		expect(line).toMatch(/^\{"level":"info","time":"[^"]+","msg":"not let in","from":"127\.0\.0\.1",/);
	expect(lines.map(line => JSON.parse(line) as unknown)).toMatchObject([
		{path: '/', status: 401, reason: 'invalid websocket bearer token'},
		{path: '/metrics', status: 401, reason: 'missing websocket bearer token'},
	]);
	expect(command.stderr).not.toMatch(/wrong-token|hidden/);
});
