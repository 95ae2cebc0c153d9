import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {closeSync, mkdirSync, rmdirSync} from 'node:fs';
import {createRequire} from 'node:module';
import {constants} from 'node:os';
import {expect, test} from 'vitest';
import {nativeBackend, PIPES, PTY, run, sh, start} from '../../../helpers/children.js';

const KINDS = [PIPES, PTY] as const;

/** The C library, for what Node does not do. */
interface Koffi {
	load(path: null): {func(signature: string): (...parameters: unknown[]) => number};
}

const backend = nativeBackend();
const library = (createRequire(import.meta.url)('koffi') as Koffi).load(null);

test.each(KINDS)('arg0 reaches the program on $kind', async io => {
	const {report, finished} = await start(
		backend,
		sh('', io, {argv: ['another name', '-c', 'tr "\\0" "|" </proc/$$/cmdline; :']}),
	);
	await finished();
	expect(report.text()).toMatch(/^another name\|-c\|/);
});

test.each(KINDS)('no descriptor of ours reaches a program on $kind', async io => {
	// Node closes its own descriptors on exec; this one asks to be inherited.
	const inheritable = library.func('int dup(int fd)')(1);
	const {report, finished} = await start(backend, sh('exec ls /proc/self/fd', io));
	await finished();
	closeSync(inheritable);
	// The last one is the directory that is being listed.
	expect(report.text().trim().split(/\s+/)).toEqual(['0', '1', '2', '3']);
});

test.each(KINDS)('no signal is ignored or blocked in a program on $kind, whatever we ignore and block', async io => {
	const mask = library.func('int pthread_sigmask(int how, void *set, void *old)');
	const usr1 = Buffer.alloc(128);
	const before = Buffer.alloc(128);
	usr1.writeUInt32LE(1 << (constants.signals.SIGUSR1 - 1));
	mask(0, usr1, before);
	const started = start(backend, sh('exec cat /proc/self/status', io));
	mask(2, before, null);
	const {report, finished} = await started;
	await finished();
	const signals = report.text().match(/^Sig(?:Blk|Ign|Cgt).*\b/gm);
	const none = '0'.repeat(16);
	expect(signals).toEqual([`SigBlk:\t${none}`, `SigIgn:\t${none}`, `SigCgt:\t${none}`]);
});

test.each(KINDS)('a working directory that is not UTF-8 works on $kind', async io => {
	const odd = Buffer.from([...Buffer.from('/tmp/longarm-odd-'), 0xff]);
	mkdirSync(odd);
	const {report, finished} = await start(backend, sh('pwd', io, {cwd: odd}));
	await finished();
	rmdirSync(odd);
	expect(report.bytes().subarray(0, odd.length).equals(odd)).toBe(true);
});

test('children of node:child_process in the same program are left to it, and ours come to their end beside them', async () => {
	const codes = Array.from({length: 60}, (_, index) => index);
	const theirs = codes.map(async code => {
		const [exitCode] = (await once(spawn('/bin/sh', ['-c', `exit ${code}`]), 'exit')) as [number];
		return exitCode;
	});
	const ours = codes.map(async code => (await run(backend, sh(`exit ${code}`, PIPES))).exitCode);
	expect(await Promise.all([...theirs, ...ours])).toEqual([...codes, ...codes]);
});

test('a program that lets go of its terminal before it ends is not hung up on', async () => {
	const {finished} = await start(backend, sh('echo bye; exec 0<&- 1>&- 2>&-; sleep 0.1; exit 5', PTY));
	expect(await finished()).toMatchObject({exitCode: 5, pty: 'bye\r\n'});
});
