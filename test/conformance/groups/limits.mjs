// Size and number: long arguments, large environments, much output, many processes, slow readers.
import {createHash} from 'node:crypto';
import {equal, isError, ok} from '../lib/check.mjs';
import {command, run, sh, start} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const MiB = 1024 * 1024;
/** For tests that move much data or start many processes. */
const LIMIT_MS = 150_000;
const LONG_DEADLINE_MS = 120_000;

/** Starts `count` processes that all wait for a line, and lets them go on once every one of them runs. */
async function runTogether(t, count, paramsOf) {
	const peer = await t.open();
	const all = await Promise.all(Array.from({length: count}, (_, i) => start(peer, paramsOf(i))));
	for (const process of all) await process.shows('ready', LONG_DEADLINE_MS);
	for (const process of all) await process.write('\n');
	return Promise.all(all.map(process => process.done(LONG_DEADLINE_MS)));
}

export const tests = group('limits', ({core}) => {
	core('an argument of 100 kB and a total of 1.2 MB are passed', async t => {
		const peer = await t.open();
		equal(
			(await run(peer, command(['/bin/sh', '-c', 'echo ${#1}', 'x', 'a'.repeat(100_000)]))).stdout,
			'100000\n',
			'length',
		);
		const many = Array.from({length: 2000}, () => 'b'.repeat(600));
		equal((await run(peer, command(['/bin/sh', '-c', 'echo $#', 'x', ...many]))).stdout, '2000\n', 'count');
	});

	core('an argument beyond the system limit is an internal error', async t => {
		const peer = await t.open();
		isError(await peer.fail('process/start', command(['echo', 'a'.repeat(MiB + 10)])), -32603);
		equal((await run(peer, sh('exit 3'))).exitCode, 3, 'exit code of the next process');
	});

	core('an environment of 5000 variables is passed', async t => {
		const env = {PATH: process.env.PATH};
		for (let i = 0; i < 5000; i++) env[`VARIABLE_${i}`] = 'x'.repeat(80);
		equal((await run(await t.open(), sh('env | grep -c ^VARIABLE_', {env}))).stdout, '5000\n', 'count');
	});

	core('fifty mebibytes of output arrive byte for byte', {solo: true, limitMs: LIMIT_MS}, async t => {
		const size = 50 * MiB;
		const process = await start(await t.open(), sh(`yes longarm | head -c ${size}`));
		await process.done(LONG_DEADLINE_MS);
		const output = process.raw('stdout');
		equal(output.length, size, 'bytes');
		const expected = Buffer.alloc(size, 'longarm\n');
		equal(
			createHash('sha256').update(output).digest('hex'),
			createHash('sha256').update(expected).digest('hex'),
			'sha256',
		);
	});

	core('a hundred processes run at the same time', {solo: true, limitMs: LIMIT_MS}, async t => {
		const all = await runTogether(t, 100, i => sh(`echo ready; read -r _; echo ${i}; exit ${i}`, {pipeStdin: true}));
		equal(
			all.map(p => [p.stdout, p.exitCode]),
			all.map((_, i) => [`ready\n${i}\n`, i]),
			'results',
		);
	});

	core('a reader that pauses gets everything in the end', {solo: true, limitMs: LIMIT_MS}, async t => {
		const flood = () => sh(`head -c ${20 * MiB} /dev/zero`);
		const process = await start(await t.open(), flood());
		process.peer.socket.pause();
		// As much for another reader meanwhile: time enough for the server to fill its buffers.
		await run(await t.open(), flood(), LONG_DEADLINE_MS);
		process.peer.socket.resume();
		await process.done(LONG_DEADLINE_MS);
		equal(process.raw('stdout').length, 20 * MiB, 'bytes');
	});

	core('fifty processes one after the other', async t => {
		const peer = await t.open();
		for (let i = 0; i < 50; i++) equal((await run(peer, sh(`exit ${i}`))).exitCode, i, 'exit code');
	});

	core('an environment variable beyond the system limit is an internal error', async t => {
		isError(await (await t.open()).fail('process/start', command(['true'], {env: {BIG: 'x'.repeat(200_000)}})), -32603);
	});

	core('stdout and stderr of 5 MiB each arrive complete', async t => {
		const process = await start(
			await t.open(),
			sh(`head -c ${5 * MiB} /dev/zero & head -c ${5 * MiB} /dev/zero >&2; wait`),
		);
		await process.done();
		equal([process.raw('stdout').length, process.raw('stderr').length], [5 * MiB, 5 * MiB], 'bytes');
	});

	core('a hundred thousand short lines arrive complete', async t => {
		const {stdout} = await run(await t.open(), sh('seq 1 100000'));
		equal(stdout.split('\n').length, 100_001, 'lines');
		ok(stdout.endsWith('99999\n100000\n'), 'the last line');
	});

	core('forty terminals run at the same time', {solo: true, limitMs: LIMIT_MS}, async t => {
		const all = await runTogether(t, 40, i => sh(`stty -echo; echo ready; read -r _; echo ${i}`, {tty: true}));
		equal(
			all.map(p => p.pty),
			all.map((_, i) => `ready\r\n${i}\r\n`),
			'outputs',
		);
	});
});
