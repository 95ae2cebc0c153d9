import {constants} from 'node:os';
import {describe, expect, test} from 'vitest';
import {describeEachBackend, PIPES, PIPES_WITH_STDIN, PTY, run, sh, start} from '../../helpers/children.js';

const EVERY_BYTE = Buffer.from(Array.from({length: 512}, (_, index) => index % 256));
const KINDS = [PIPES, PTY] as const;

describeEachBackend(backend => {
	for (const io of KINDS) {
		describe(`the end of a process on ${io.kind}`, () => {
			test.each([0, 7, 255])('is its exit code %i', async code => {
				expect(await run(backend, sh(`exit ${code}`, io))).toEqual({exitCode: code, stdout: '', stderr: '', pty: ''});
			});

			test.each(['SIGTERM', 'SIGKILL', 'SIGHUP'] as const)('is 128 + n after %s', async name => {
				const {exitCode} = await run(backend, sh(`kill -s ${name.slice(3)} $$`, io));
				expect(exitCode).toBe(128 + constants.signals[name]);
			});

			test('is reported once, and so is the end of every stream', async () => {
				const {child, report, finished} = await start(backend, sh('echo out; echo err >&2', io));
				await finished();
				expect({exits: report.exits, ends: [...report.ends].sort()}).toEqual({
					exits: [0],
					ends: [...child.streams].sort(),
				});
			});

			test('can be brought about by a signal to the whole group', async () => {
				const {child, report, finished} = await start(backend, sh('sleep 1000 & echo up; wait', io));
				await report.shows('up');
				child.signal('SIGKILL');
				expect((await finished()).exitCode).toBe(137);
				// The process is gone, and signalling it is no error.
				child.signal('SIGKILL');
			});

			test('can be brought about in the very moment of the start', async () => {
				for (let count = 0; count < 200; count++) {
					const {child, finished} = await start(backend, sh('exec sleep 1000', io));
					child.signal('SIGKILL');
					expect((await finished()).exitCode).toBe(137);
				}
			});
		});
	}

	describe('pipes', () => {
		test('keep standard output and standard error apart', async () => {
			expect(await run(backend, sh('echo out; echo err >&2', PIPES))).toEqual({
				exitCode: 0,
				stdout: 'out\n',
				stderr: 'err\n',
				pty: '',
			});
		});

		test('carry every byte value both ways', async () => {
			const {child, report} = await start(backend, sh('head -c 512', PIPES_WITH_STDIN));
			child.stdin!.write(EVERY_BYTE, () => {});
			await report.until(() => report.ends.length === 2);
			expect(report.bytes('stdout').equals(EVERY_BYTE)).toBe(true);
			child.stdin!.destroy();
		});

		test('let the program see the end of its input when that is closed', async () => {
			const {child, finished} = await start(backend, sh('cat; echo end', PIPES_WITH_STDIN));
			await new Promise<void>(done => child.stdin!.write(Buffer.from('text '), done));
			child.stdin!.destroy();
			expect((await finished()).stdout).toBe('text end\n');
		});

		test('without a standard input give an empty one', async () => {
			const {child, finished} = await start(backend, sh('readlink /proc/self/fd/0; cat', PIPES));
			expect(child.stdin).toBeUndefined();
			expect((await finished()).stdout).toBe('/dev/null\n');
		});

		test('make the program the leader of its own session and group, without a terminal', async () => {
			const {child, finished} = await start(backend, sh('cat /proc/$$/stat', PIPES));
			expect(placeOf((await finished()).stdout)).toEqual({
				group: child.pid,
				session: child.pid,
				terminal: false,
				foreground: -1,
			});
		});

		test('show the program arg0 as its name', async () => {
			const request = sh('', PIPES, {argv: ['another name', '-c', 'tr "\\0" "|" </proc/$$/cmdline; :']});
			expect((await run(backend, request)).stdout).toBe('another name|-c|tr "\\0" "|" </proc/$$/cmdline; :|');
		});

		test('swallow what is written to a program that closed its input', async () => {
			const {child, report, finished} = await start(backend, sh('exec <&-; echo closed; sleep 1000', PIPES_WITH_STDIN));
			await report.shows('closed');
			for (let count = 0; count < 3; count++) {
				await new Promise<void>(done => child.stdin!.write(Buffer.alloc(100_000), done));
			}
			child.signal('SIGKILL');
			expect(await finished()).toEqual({exitCode: 137, stdout: 'closed\n', stderr: '', pty: ''});
		});
	});

	describe('a terminal', () => {
		test('is standard input, output and error in one, with 24 rows and 80 columns', async () => {
			const {pty} = await run(
				backend,
				sh('stty size; echo out; echo err >&2; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all', PTY),
			);
			expect(pty).toBe('24 80\r\nout\r\nerr\r\nall\r\n');
		});

		test('is the controlling terminal of a session of its own, with the program in the foreground', async () => {
			const {child, finished} = await start(backend, sh('cat /proc/$$/stat; stty size </dev/tty', PTY));
			const [stat, size] = (await finished()).pty.split('\r\n');
			expect(placeOf(stat!)).toEqual({group: child.pid, session: child.pid, terminal: true, foreground: child.pid});
			expect(size).toBe('24 80');
		});

		test('has the modes a new terminal has', async () => {
			const {pty} = await run(backend, sh('stty -a', PTY));
			const modes = ['icanon', 'echo', 'opost', 'onlcr', 'isig', 'icrnl', '-iutf8'];
			expect(modes.filter(mode => !pty.split(/[\s;]+/).includes(mode))).toEqual([]);
		});

		test('in raw mode carries every byte value both ways', async () => {
			const {child, report, finished} = await start(backend, sh('stty raw -echo; printf ready; head -c 512', PTY));
			await report.shows('ready');
			child.stdin!.write(EVERY_BYTE, () => {});
			await finished();
			expect(report.bytes('pty').equals(Buffer.concat([Buffer.from('ready'), EVERY_BYTE]))).toBe(true);
		});

		test('turns ^C into an interrupt and ^D at the start of a line into the end of the input', async () => {
			const interrupted = await start(backend, sh('echo ready; exec sleep 1000', PTY));
			await interrupted.report.shows('ready');
			interrupted.child.stdin!.write(Buffer.from([3]), () => {});
			expect((await interrupted.finished()).exitCode).toBe(130);

			const ended = await start(backend, sh('stty -echo; echo ready; cat; echo end', PTY));
			await ended.report.shows('ready');
			ended.child.stdin!.write(Buffer.from('line\n\x04'), () => {});
			expect((await ended.finished()).pty).toBe('ready\r\nline\r\nend\r\n');
		});
	});

	test('the program gets the environment it was given and nothing else', async () => {
		const environment = new Map([
			['A', ''],
			['B', 'two words'],
			['C', 'grün = ☘'],
		]);
		for (const io of KINDS) {
			const {report, finished} = await start(
				backend,
				sh('', io, {file: '/usr/bin/env', argv: ['env', '-0'], environment}),
			);
			await finished();
			const variables = report.bytes().toString().split('\0').slice(0, -1);
			expect(variables.sort()).toEqual(['A=', 'B=two words', 'C=grün = ☘']);
		}
	});

	test('no signal is ignored by the program, whatever we ignore', async () => {
		// Node itself ignores SIGPIPE.
		for (const io of KINDS) {
			const {report, finished} = await start(backend, sh('exec grep SigIgn /proc/self/status', io));
			await finished();
			expect(report.text().trim()).toBe('SigIgn:\t0000000000000000');
		}
	});

	test('a relative file is relative to the working directory of the child', async () => {
		for (const io of KINDS) {
			const {stdout, pty} = await run(backend, sh('pwd', io, {file: 'bin/sh', cwd: Buffer.from('/usr')}));
			expect((stdout + pty).trim()).toBe('/usr');
		}
	});
});

/** Group, session and terminal of a process in `/proc/PID/stat`. */
function placeOf(stat: string): {group: number; session: number; terminal: boolean; foreground: number} {
	const [, , group, session, terminal, foreground] = stat
		.slice(stat.lastIndexOf(')') + 2)
		.split(' ')
		.map(Number);
	return {group: group!, session: session!, terminal: terminal !== 0, foreground: foreground!};
}
