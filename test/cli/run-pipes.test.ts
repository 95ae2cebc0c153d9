import {spawn} from 'node:child_process';
import {createHash, randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {closeSync, openSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {Command, PROGRAM} from '../helpers/command.js';
import {eventually, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {CLI_TARGETS} from '../helpers/transports.js';

const MIB = 1024 * 1024;

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function all(stream: AsyncIterable<Buffer>): Promise<Buffer> {
	const chunks: Buffer[] = [];
	for await (const chunk of stream) chunks.push(chunk);
	return Buffer.concat(chunks);
}

/** The command with descriptors of our own as its streams; settles with its exit code and what it said on stderr. */
async function withStreams(
	args: readonly string[],
	stdio: ['pipe' | 'ignore' | number, 'pipe' | number],
): Promise<{code: number | null; stderr: string}> {
	const child = spawn(process.execPath, [PROGRAM, ...args], {stdio: [...stdio, 'pipe']});
	onTestFinished(() => void child.kill('SIGKILL'));
	const ended = new Promise<number | null>(resolve => {
		child.once('close', resolve);
	});
	const stderr = (await all(child.stderr as AsyncIterable<Buffer>)).toString();
	return {code: await ended, stderr};
}

function opened(path: string, flags: string): number {
	const descriptor = openSync(path, flags);
	onTestFinished(() => closeSync(descriptor));
	return descriptor;
}

describe.each(Object.entries(CLI_TARGETS))('on %s', (_name, startTarget) => {
	const piped = async (...args: string[]): Promise<Command> =>
		new Command(['run', ...(await startTarget()), ...args], {ownStdout: true});

	test('any bytes go in and come out as they were, on both streams at once', async () => {
		const content = randomBytes(5 * MIB);
		const command = await piped('--', 'sh', '-c', 'tee /dev/stderr');
		const errors: Buffer[] = [];
		// As text it would not survive.
		command.child.stderr.removeAllListeners('data');
		command.child.stderr.setEncoding('latin1').on('data', (text: string) => errors.push(Buffer.from(text, 'latin1')));
		const stderrOver = new Promise(resolve => command.child.stderr.once('end', resolve));
		command.child.stdin.end(content);
		const output = await all(command.child.stdout as AsyncIterable<Buffer>);
		await stderrOver;
		expect([digest(output), digest(Buffer.concat(errors))]).toEqual([digest(content), digest(content)]);
		expect(await command.ended).toEqual({code: 0, signal: null});
	});

	test('a reader that takes its time gets every byte', async () => {
		const script =
			'i=0; while [ $i -lt 40 ]; do head -c 1048576 /dev/zero | tr "\\0" "$(printf "\\\\$(printf %o $((65 + i % 26)))")"; i=$((i+1)); done';
		const command = await piped('--', 'sh', '-c', script);
		const output = command.child.stdout;
		const hash = createHash('sha256');
		let size = 0;
		for await (const chunk of output as AsyncIterable<Buffer>) {
			size += chunk.length;
			hash.update(chunk);
			await new Promise(resolve => setImmediate(resolve));
		}
		const expected = createHash('sha256');
		for (let index = 0; index < 40; index++) expected.update(Buffer.alloc(MIB, 65 + (index % 26)));
		expect([size, hash.digest('hex')]).toEqual([40 * MIB, expected.digest('hex')]);
		expect([await command.ended, command.stderr]).toEqual([{code: 0, signal: null}, '']);
	});

	test('a process whose output nobody takes waits', async () => {
		const command = await piped('--', 'sh', '-c', 'echo $$ >&2; exec head -c 100000000 /dev/zero');
		await command.until(() => command.stderr.includes('\n'), 'it was there');
		const pid = Number.parseInt(command.stderr, 10);
		// In a write to a full pipe, with most of it yet to be written, it stays for as long as nobody reads.
		await eventually(() => readFileSync(`/proc/${pid}/wchan`, 'utf8').includes('pipe_write'));
		const written = Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
		expect(written).toBeLessThan(20_000_000);
		expect((await all(command.child.stdout as AsyncIterable<Buffer>)).length).toBe(100_000_000);
		expect(await command.ended).toEqual({code: 0, signal: null});
	});

	test('when the reader goes, the process goes, without a word', async () => {
		const command = await piped('--', 'sh', '-c', 'echo $$; exec yes');
		const [first] = (await once(command.child.stdout, 'data')) as [Buffer];
		command.child.stdout.destroy();
		expect([await command.ended, command.stderr]).toEqual([{code: 141, signal: null}, '']);
		await untilDead(Number.parseInt(first.toString(), 10));
	});

	test('a last line that nobody can read any more is no success', async () => {
		const command = await piped('--', 'sh', '-c', 'read x; echo $x');
		command.child.stdout.destroy();
		command.child.stdin.end('said\n');
		expect([await command.ended, command.stderr]).toEqual([{code: 141, signal: null}, '']);
	});

	test('a process that stops reading ends as ever, whatever is left in the pipe', async () => {
		const command = await piped('--', 'head', '-c', '3');
		const zeros = Buffer.alloc(64 * 1024, 'x');
		const feed = (): void => {
			while (command.child.stdin.write(zeros));
			command.child.stdin.once('drain', feed);
		};
		feed();
		expect((await all(command.child.stdout as AsyncIterable<Buffer>)).toString()).toBe('xxx');
		expect([await command.ended, command.stderr]).toEqual([{code: 0, signal: null}, '']);
	});

	test('a full disk is an error, and the process is ended', async () => {
		const pidFile = join(scratchDirectory(), 'pid');
		const {code, stderr} = await withStreams(
			['run', ...(await startTarget()), '--', 'sh', '-c', `echo $$ > ${pidFile}; exec yes`],
			['ignore', opened('/dev/full', 'w')],
		);
		expect([code, stderr]).toEqual([125, expect.stringMatching(/^error: stdout: ENOSPC/)]);
		await untilDead(Number(readFileSync(pidFile, 'utf8')));
	});

	test('files are read and written as pipes are', async () => {
		const [source, target] = [join(scratchDirectory(), 'source'), join(scratchDirectory(), 'target')];
		const content = randomBytes(3 * MIB + 1);
		writeFileSync(source, content);
		const {code} = await withStreams(
			['run', ...(await startTarget()), 'cat'],
			[opened(source, 'r'), opened(target, 'w')],
		);
		expect(code).toBe(0);
		expect(digest(readFileSync(target))).toBe(digest(content));
	});
});
