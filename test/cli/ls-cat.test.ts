import {spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, PROGRAM, run as runCommand} from '../helpers/command.js';
import {cutProxy} from '../helpers/cut-proxy.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {onTerminal} from '../helpers/terminal.js';

const MiB = 1024 * 1024;

async function working() {
	const root = scratchDirectory();
	const at = (...names: string[]) => join(root, ...names);
	return {at, url: (await serving()).url};
}

/** The bytes a command writes, and its exit code. */
async function bytesOf(args: readonly string[]): Promise<{bytes: Buffer; code: number | null}> {
	const command = new Command(args, {ownStdout: true});
	const chunks: Buffer[] = [];
	command.child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
	const ended = once(command.child.stdout, 'end');
	const {code} = await command.ended;
	await ended;
	return {bytes: Buffer.concat(chunks), code};
}

test('ls shows names by their bytes, in a pipe exactly as they are', async () => {
	const {at, url} = await working();
	mkdirSync(at('dir'));
	for (const name of ['b', 'a\u001b[31m', '.hidden', 'ü']) writeFileSync(at(name), '');
	writeFileSync(Buffer.concat([Buffer.from(`${at()}/`), Buffer.from([0x7a, 0xff])]), '');
	const expected = Buffer.concat([Buffer.from('a\u001b[31m\nb\ndir\nz'), Buffer.from([0xff]), Buffer.from('\nü\n')]);
	for (const address of [at(), `${url}:${at()}`]) {
		expect(await bytesOf(['ls', address])).toEqual({bytes: expected, code: 0});
	}
	expect((await runCommand(['ls', '-a', `${url}:${at()}`])).stdout).toMatch(/^\.hidden\n/);
});

test('ls writes control characters out on a terminal, and marks directories', async () => {
	const {at, url} = await working();
	mkdirSync(at('dir'));
	writeFileSync(at('a\u001b[31m\n\u202eb'), '');
	writeFileSync(Buffer.concat([Buffer.from(`${at()}/`), Buffer.from([0x7a, 0xff, 0x07])]), '');
	const {output, code} = await onTerminal(['ls', `${url}:${at()}`]);
	expect([code, output]).toEqual([0, 'a\\x1b[31m\\x0a\\u202eb\r\ndir/\r\nz\\xff\\x07\r\n']);
});

test('ls -l shows kind, mode, size, time and where links lead', async () => {
	const {at, url} = await working();
	mkdirSync(at('dir'), 0o755);
	writeFileSync(at('file'), 'x'.repeat(1234));
	chmodSync(at('file'), 0o640);
	symlinkSync('file', at('link'));
	utimesSync(at('file'), 0, Date.UTC(2026, 1, 3, 4, 5, 6) / 1000);
	const {code, stdout} = await runCommand(['ls', '-l', `${url}:${at()}`], {TZ: 'UTC'});
	expect(code).toBe(0);
	expect(stdout).toMatch(
		/^drwxr-xr-x +\d+ [\d-]+ [\d:]+ dir\/\n-rw-r-----         1234 2026-02-03 04:05:06 file\nlrwxrwxrwx +4 [\d-]+ [\d:]+ link -> file\n$/,
	);
});

test('ls takes files and several directories, goes on after one that is missing, and speaks JSON', async () => {
	const {at, url} = await working();
	mkdirSync(at('one'));
	writeFileSync(at('one', 'one'), 'abc');
	const several = await runCommand(['ls', '-e', url, `:${at('one')}`, `:${at('none')}`, `:${at('one', 'one')}`]);
	expect(several).toMatchObject({
		code: 1,
		stdout: `:${at('one')}:\none\n\n:${at('one', 'one')}:\none\n`,
		stderr: `error: :${at('none')}: No such file or directory\n`,
	});
	const {stdout} = await runCommand(['ls', '--json', `${url}:${at('one')}`]);
	expect(JSON.parse(stdout)).toMatchObject([{name: 'one', uri: `file://${at('one', 'one')}`, kind: 'file', size: 3}]);
	expect((await runCommand(['ls', '--json', `${url}:${at('none')}`])).stdout).toBe('[]\n');
});

test('cat writes the bytes of files one after the other', async () => {
	const {at, url} = await working();
	const [one, other] = [randomBytes(5 * MiB + 17), randomBytes(3)];
	writeFileSync(at('one'), one);
	writeFileSync(at('other'), other);
	const {bytes, code} = await bytesOf(['cat', `${url}:${at('one')}`, at('other')]);
	expect([code, bytes.equals(Buffer.concat([one, other]))]).toEqual([0, true]);
	const missing = await runCommand(['cat', `${url}:${at('none')}`, `${url}:${at()}`]);
	expect([missing.code, missing.stdout, missing.stderr.split('\n').length]).toEqual([1, '', 3]);
});

test('cat goes on where it stopped after a lost connection', async () => {
	const {at, url} = await working();
	const content = randomBytes(12 * MiB);
	writeFileSync(at('a'), content);
	const proxy = await cutProxy({target: url, afterBytes: 6 * MiB, effect: 'cut', direction: 'down'});
	const {bytes, code} = await bytesOf(['cat', `${proxy.url}:${at('a')}`]);
	expect([code, bytes.equals(content)]).toEqual([0, true]);
});

test('cat into a pipe that nobody reads ends like the local one, without a word', async () => {
	const {at, url} = await working();
	writeFileSync(at('a'), randomBytes(5 * MiB));
	const command = new Command(['cat', `${url}:${at('a')}`], {ownStdout: true});
	const head = spawn('head', ['-c', '10'], {stdio: [command.child.stdout, 'ignore', 'ignore']});
	command.child.stdout.destroy();
	await once(head, 'exit');
	expect([await command.ended, command.stderr]).toEqual([{code: 141, signal: null}, '']);
});

test('relative paths begin in the directory of the server, ~ in the home of its user, and a URI names any bytes', async () => {
	const {at, url} = await working();
	mkdirSync(at('home'));
	writeFileSync(at('home', 'a'), 'at home');
	writeFileSync(Buffer.concat([Buffer.from(`${at()}/`), Buffer.from([0x7a, 0xff])]), 'no text');
	const environment = `cmd:cd '${at()}' && HOME='${at('home')}' '${process.execPath}' '${PROGRAM}' serve --listen stdio --log-level error`;
	const uri = `file://${at()}/z%FF`;
	expect(await runCommand(['cat', '-e', environment, ':home/../home/a', ':~/a', ':~/../home/./a'])).toMatchObject({
		code: 0,
		stdout: 'at home'.repeat(3),
		stderr: '',
	});
	expect((await runCommand(['cat', `${url}:${uri}`, `local:${uri}`])).stdout).toBe('no textno text');
});
