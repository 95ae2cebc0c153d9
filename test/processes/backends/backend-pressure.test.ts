// covers: src/processes/backends/output-reader.ts, src/processes/backends/stdin-writers.ts and both backends
import {afterEach, describe, expect, test} from 'vitest';
import {describeEachBackend, type Io, PIPES, PTY, run, type Started, sh, start} from '../../helpers/children.js';
import {waitTicks} from '../../helpers/ticks.js';

/** `seq 1 650000`: more than 4 MiB in which every missing or doubled byte shows. */
const LAST = 650_000;
const pattern = Array.from({length: LAST}, (_, index) => `${index + 1}\n`).join('');
const LONG_OUTPUT = `seq 1 ${LAST}`;
/** `seq 1 10000`: less than a pipe holds, so that a child can end although nobody reads. */
const TEN_THOUSAND = pattern.slice(0, pattern.indexOf('10001\n'));
const TERMINAL_MODE = 'stty raw -echo; ';

const escaped: number[] = [];
afterEach(() => {
	for (const pid of escaped.splice(0)) process.kill(pid, 'SIGKILL');
});

/** Waits for a line with the pid of a process that will outlive the child, and sees to its end after the test. */
async function escapedPid({report}: Started): Promise<number> {
	const line = /pid (\d+)\r?\n/;
	await report.until(() => line.test(report.text()));
	const pid = Number(line.exec(report.text())![1]);
	escaped.push(pid);
	return pid;
}

function output(io: Io): {script: string; expected: string} {
	return {script: io.kind === 'pty' ? TERMINAL_MODE + LONG_OUTPUT : LONG_OUTPUT, expected: pattern};
}

describeEachBackend(backend => {
	test.each([PIPES, PTY])('a paused child on $kind stops producing, and nothing is lost when it goes on', async io => {
		const {script, expected} = output(io);
		const {child, report, finished} = await start(backend, sh(script, io));
		report.onOutput = () => child.pause();
		await report.until(() => report.chunks.length > 0);
		const taken = report.bytes().length;
		// Time enough to produce everything and more, for a child that nobody holds up.
		await run(backend, sh(`${LONG_OUTPUT} >/dev/null; ${LONG_OUTPUT} >/dev/null`, PIPES));
		expect({taken: report.bytes().length, exits: report.exits}).toEqual({taken, exits: []});
		expect(taken).toBeLessThan(expected.length / 2);
		report.onOutput = () => {};
		child.resume();
		await finished();
		expect(report.text() === expected).toBe(true);
	});

	test.each([PIPES, PTY])('a child on $kind that is paused and resumed all the time loses nothing', async io => {
		const {script, expected} = output(io);
		const {child, report, finished} = await start(backend, sh(script, io));
		report.onOutput = () => {
			child.pause();
			setImmediate(() => child.resume());
		};
		await finished();
		expect(report.text() === expected).toBe(true);
	});

	test('a grandchild that holds the output delays its end, but not the exit', async () => {
		const started = await start(backend, sh('sleep 1000 & echo pid $!', PIPES));
		const pid = await escapedPid(started);
		const {report, finished} = started;
		await report.until(() => report.exits.length > 0);
		// The end of another child's output is told meanwhile.
		await run(backend, sh('true', PIPES));
		expect({exits: report.exits, ends: report.ends}).toEqual({exits: [0], ends: []});
		process.kill(pid, 'SIGKILL');
		escaped.pop();
		expect((await finished()).exitCode).toBe(0);
		expect([...report.ends].sort()).toEqual(['stderr', 'stdout']);
	});

	describe('finish', () => {
		test('keeps what the pipe held and ends the streams although an escaped grandchild holds them', async () => {
			const started = await start(backend, sh('setsid sleep 1000 & echo pid $! >&2; seq 1 10000', PIPES));
			const {child, report, finished} = started;
			child.pause();
			await report.until(() => report.exits.length > 0);
			await waitTicks();
			// A pause holds beyond the exit.
			expect(report.timeline).toEqual(['exited']);
			child.drainAndClose();
			const {exitCode, stdout} = await finished();
			await escapedPid(started);
			expect({exitCode, stdout}).toEqual({exitCode: 0, stdout: TEN_THOUSAND});
		});

		test('keeps what every pipe held although a pause is asked for in the middle of it', async () => {
			const {child, report, finished} = await start(backend, sh('seq 1 10000; seq 1 10000 >&2', PIPES));
			child.pause();
			await report.until(() => report.exits.length > 0);
			report.onOutput = () => child.pause();
			child.drainAndClose();
			expect(await finished()).toEqual({exitCode: 0, stdout: TEN_THOUSAND, stderr: TEN_THOUSAND, pty: ''});
		});

		test('lets go of the pipes of a child that is still running, and the child runs on', async () => {
			const {child, report, finished} = await start(backend, sh('echo up; exec sleep 1000', PIPES));
			await report.shows('up');
			child.drainAndClose();
			await report.until(() => report.ends.length === 2);
			expect(report.exits).toEqual([]);
			child.signal('SIGKILL');
			expect((await finished()).exitCode).toBe(137);
		});

		test('hangs up the terminal of a child that is still running', async () => {
			const {child, report, finished} = await start(backend, sh('echo up; exec sleep 1000', PTY));
			await report.shows('up');
			child.drainAndClose();
			expect((await finished()).exitCode).toBe(129);
		});
	});

	test('a child on a terminal that does not read its input holds up nobody', async () => {
		const {child, report, finished} = await start(backend, sh(`${TERMINAL_MODE}echo ready; exec sleep 1000`, PTY));
		await report.shows('ready');
		let written = false;
		child.stdin!.write(Buffer.alloc(1024 * 1024, 'x'), () => {
			written = true;
		});
		expect(await run(backend, sh('echo other; stty size', PTY))).toMatchObject({
			exitCode: 0,
			pty: 'other\r\n24 80\r\n',
		});
		expect(written).toBe(false);
		child.signal('SIGKILL');
		expect((await finished()).exitCode).toBe(137);
	});

	test('a mebibyte written to a terminal arrives whole when the program reads at last', async () => {
		const count = 1024 * 1024;
		const script = `${TERMINAL_MODE}echo ready; head -c ${count} | cksum`;
		const {child, report, finished} = await start(backend, sh(script, PTY));
		await report.shows('ready');
		const bytes = Buffer.from(pattern.slice(0, count));
		child.stdin!.write(bytes.subarray(0, 700_000), () => {});
		child.stdin!.write(bytes.subarray(700_000), () => {});
		const {stdout} = await cksum(bytes);
		expect((await finished()).pty).toBe(`ready\n${stdout}`);
	});

	test('200 children on terminals lose nothing of 5,000 bytes each, 8 at a time', async () => {
		const outcomes: string[] = [];
		const lane = async (): Promise<void> => {
			while (outcomes.length < 200) {
				const index = outcomes.push('') - 1;
				outcomes[index] = (await run(backend, sh(`printf %05000d ${index}`, PTY))).pty;
			}
		};
		await Promise.all(Array.from({length: 8}, lane));
		const wrong = outcomes.filter((each, index) => each !== String(index).padStart(5000, '0'));
		expect(wrong.map(each => each.length)).toEqual([]);
		expect(outcomes.length).toBe(200);
	});

	/** Output of `cksum` for these bytes. */
	async function cksum(bytes: Uint8Array): Promise<{stdout: string}> {
		const {child, finished} = await start(backend, sh('cksum', {kind: 'pipes', stdin: true}));
		await new Promise<void>(done => child.stdin!.write(bytes, done));
		child.stdin!.destroy();
		return finished();
	}
});
