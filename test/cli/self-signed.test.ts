import {chmodSync, existsSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {createSelfSigned, inspectIdentity} from '../../src/transports/node/self-signed-certificate.js';
import {Command, run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {fileWith} from '../helpers/tokens.js';

const OTHER = `sha256:${'00'.repeat(32)}`;
const SERVE = ['serve', '--listen', 'wss://127.0.0.1:0', '--tls-self-signed'];

interface Told {
	readonly fingerprint: string;
	readonly client: string;
}

async function serve(home: string, ...more: string[]): Promise<Told & {command: Command; url: string}> {
	const command = new Command([...SERVE, ...more], {env: {LONGARM_HOME: home}});
	const url = await command.url();
	await command.logs('"self-signed certificate"');
	const line = command.stderr.split('\n').find(each => each.includes('"self-signed certificate"'))!;
	return {command, url, ...(JSON.parse(line) as Told)};
}

/** A directory whose name does not exist yet. */
function newHome(): string {
	return join(scratchDirectory(), 'home');
}

describe('a server with a certificate of its own', () => {
	test('prints the line for the other side, which then reaches it by name', async () => {
		const token = fileWith('right');
		const {url, client, fingerprint} = await serve(
			newHome(),
			'--ws-auth',
			'capability-token',
			'--ws-token-file',
			token,
		);
		expect(client).toBe(`longarm env add NAME ${url} --token-file FILE --tls-fingerprint ${fingerprint}`);
		const there = {LONGARM_HOME: newHome()};
		const args = client.replace('NAME', 'lab').replace('FILE', token).split(' ').slice(1);
		expect(await run(args, there)).toMatchObject({code: 0, stderr: ''});
		expect(await run(['run', '-e', 'lab', '--', 'echo', 'hi'], there)).toMatchObject({
			code: 0,
			stdout: 'hi\n',
			stderr: '',
		});
		expect(await run(['env', 'test', 'lab'], there)).toMatchObject({code: 0});
	});

	test('has the same one after a restart, in a file for its owner alone', async () => {
		const home = newHome();
		const first = await serve(home);
		const path = join(home, 'self-signed.pem');
		expect(statSync(path).mode & 0o777).toBe(0o600);
		first.command.child.kill('SIGTERM');
		await first.command.ended;
		expect((await serve(home)).fingerprint).toBe(first.fingerprint);
		expect(first.command.stderr).not.toContain('PRIVATE KEY');
	});

	test('makes a new one when that has expired, and says so', async () => {
		const home = scratchDirectory();
		const old = createSelfSigned(['localhost'], new Date('2020-01-01'));
		writeFileSync(join(home, 'self-signed.pem'), `${old.cert}${old.key}`, {mode: 0o600});
		const {command, fingerprint} = await serve(home);
		expect(command.stderr).toContain('the self-signed certificate has expired');
		expect(fingerprint).not.toBe(inspectIdentity(old)!.fingerprint);
		expect(readFileSync(join(home, 'self-signed.pem'), 'utf8')).not.toContain(old.cert);
	});

	test('keeps it in memory where there is no place for it, and says so', async () => {
		const {command, fingerprint} = await serve('/dev/null/home');
		expect(fingerprint).toMatch(/^sha256:[0-9a-f]{64}$/);
		expect(command.stderr).toContain('the next start will have another fingerprint');
	});

	test('refuses a file that others can read, and one that is broken', async () => {
		const home = scratchDirectory();
		const path = join(home, 'self-signed.pem');
		writeFileSync(path, 'nonsense', {mode: 0o600});
		const broken = await run(SERVE, {LONGARM_HOME: home});
		expect(broken).toMatchObject({code: 1, stderr: expect.stringContaining('remove it for a new one') as string});
		chmodSync(path, 0o644);
		const open = await run(SERVE, {LONGARM_HOME: home});
		expect(open).toMatchObject({code: 1, stderr: expect.stringContaining('it is open to others') as string});
	});

	test.each([
		[['serve', '--tls-self-signed'], '--tls-self-signed is for --listen wss://IP:PORT only'],
		[[...SERVE, '--tls-cert', '/c'], '--tls-self-signed takes the place of --tls-cert and --tls-key'],
	])('%j is misused', async (args, message) => {
		const home = newHome();
		const {code, stderr} = await run(args, {LONGARM_HOME: home});
		expect([code, stderr.split('\n', 1)[0]]).toEqual([2, `error: ${message}`]);
		expect(existsSync(home)).toBe(false);
	});
});

describe('a client', () => {
	test('accepts no other certificate than the pinned one, wherever the pin was given', async () => {
		const {url} = await serve(newHome());
		const home = newHome();
		await run(['env', 'add', 'lab', url, '--tls-fingerprint', OTHER], {LONGARM_HOME: home});
		const ways: [string[], Record<string, string>][] = [
			[['-e', 'lab'], {LONGARM_HOME: home}],
			[['-e', url, '--tls-fingerprint', OTHER], {}],
			[['-e', url], {LONGARM_EXEC_SERVER_TLS_FINGERPRINT: OTHER}],
		];
		for (const [args, env] of ways) {
			const {code, stderr} = await run(['run', ...args, '--', 'true'], env);
			expect(code).toBe(125);
			expect(stderr).toContain(`and the one that is pinned is ${OTHER}`);
			expect(stderr).toContain('hint: Either the server got another certificate');
		}
	});

	test('takes the pin or the authority from the command line, and without them says which would help', async () => {
		const home = newHome();
		const {url, fingerprint} = await serve(home);
		const file = join(home, 'self-signed.pem');
		for (const trust of [
			['--tls-fingerprint', fingerprint],
			['--ca-file', file],
		]) {
			expect(await run(['run', '-e', url, ...trust, '--', 'echo', 'hi'])).toMatchObject({stdout: 'hi\n', stderr: ''});
		}
		for (const args of [
			['run', '-e', url, '--', 'true'],
			['ls', `${url}:/`],
			['cp', `${url}:/x`, '/tmp'],
			['env', 'test', url],
		]) {
			const {code, stdout, stderr} = await run(args);
			expect(code).not.toBe(0);
			expect(`${stdout}${stderr}`).toMatch(/self-signed certificate[^]*hint: .*--ca-file FILE.*--tls-fingerprint/);
		}
	});

	test('takes the authority from environments.toml, relative to it', async () => {
		const home = newHome();
		const {url} = await serve(home);
		const text = `[[environments]]\nid = "lab"\nurl = "${url}"\nca_file = "self-signed.pem"\n`;
		writeFileSync(join(home, 'environments.toml'), text, {mode: 0o600});
		expect(await run(['run', '-e', 'lab', '--', 'echo', 'hi'], {LONGARM_HOME: home})).toMatchObject({stdout: 'hi\n'});
	});

	test.each([
		[['env', 'add', 'x', 'ws://127.0.0.1:1', '--ca-file', '/c'], 'go with a wss:// URL only'],
		[['env', 'add', 'x', 'wss://127.0.0.1:1', '--tls-fingerprint', 'sha256:12'], '`sha256:12` is no fingerprint'],
		[['env', 'add', 'x', 'cmd:true', '--ca-file', '/c'], '--ca-file and --tls-fingerprint go with a wss:// URL only'],
		[['ls', '-e', 'ws://127.0.0.1:1', '--tls-fingerprint', OTHER, ':/'], 'go with a wss:// URL only'],
	])('%j is misused', async (args, message) => {
		const {code, stderr} = await run(args, {LONGARM_HOME: newHome()});
		expect(code).toBe(2);
		expect(stderr).toContain(message);
	});
});
