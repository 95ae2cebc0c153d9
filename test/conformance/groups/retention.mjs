// What stays readable after the fact: the last mebibyte of output, for a while after closed.
import {equal, isError, ok} from '../lib/check.mjs';
import {bytes, command, letTimePass, run, sh, start, textOf} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';
import {CLOCK_SLACK_MS, DEADLINE_MS, eventually} from '../lib/time.mjs';

const MiB = 1024 * 1024;
const size = chunks => chunks.reduce((sum, c) => sum + bytes(c.chunk).length, 0);

export const tests = group('retention', ({core}) => {
	core('output and exit code can be read after the process has closed', async t => {
		const process = await start(await t.open(), sh('echo one; echo two; exit 3'));
		await process.done();
		await letTimePass(t);
		const {chunks, exitCode, closed} = await process.read();
		equal([textOf(chunks), exitCode, closed], ['one\ntwo\n', 3, true], '[output, exit code, closed]');
	});

	core('the id of a closed process stays reserved', async t => {
		const peer = await t.open();
		await run(peer, command(['true'], {processId: 'kept'}));
		isError(
			await peer.fail('process/start', command(['true'], {processId: 'kept'})),
			-32600,
			'process kept already exists',
		);
	});

	core('at most one mebibyte is retained, and it is the last one', async t => {
		const process = await start(await t.open(), sh('head -c 3000000 /dev/zero; printf the-end'));
		const {events} = await process.done();
		const {chunks, nextSeq} = await process.read();
		ok(size(chunks) <= MiB && size(chunks) > MiB - 128 * 1024, `close to and at most 1 MiB, got ${size(chunks)}`);
		ok(textOf(chunks).endsWith('the-end'), 'the end of the output');
		equal(nextSeq, events.length + 1, 'nextSeq');
	});

	core('dropped chunks leave a gap at the front, not elsewhere', async t => {
		const process = await start(await t.open(), sh('head -c 3000000 /dev/zero'));
		const {events} = await process.done();
		const produced = events.filter(e => e.type === 'output').map(e => e.seq);
		const retained = (await process.read()).chunks.map(c => c.seq);
		ok(retained.length < produced.length, 'some chunks to be gone');
		equal(retained, produced.slice(-retained.length), 'seqs retained');
	});

	core('a closed process is forgotten after its retention time and its id is free again', {slow: true}, async t => {
		const peer = await t.open();
		const began = performance.now();
		const process = await start(peer, sh('echo x', {processId: 'brief'}));
		await process.done();
		const probe = async () => {
			const {result, error} = await peer.reply(process.postRead());
			if (result) equal(textOf(result.chunks), 'x\n', 'output');
			return error;
		};
		const limits = {ms: t.retentionMs + DEADLINE_MS, everyMs: 250};
		isError(await eventually(probe, 'the process to be forgotten', limits), -32600, 'unknown process id brief');
		// Measured from before the start: less than the retention proves that it was forgotten too early.
		const tookMs = performance.now() - began;
		ok(tookMs >= t.retentionMs - CLOCK_SLACK_MS, `output for ${t.retentionMs} ms, got ${tookMs}`);
		peer.inbox.length = 0;
		equal((await run(peer, sh('exit 6', {processId: 'brief'}))).exitCode, 6, 'exit code of the new process');
	});

	core('notifications carry all output although only a mebibyte is retained', async t => {
		const process = await start(await t.open(), sh('head -c 3000000 /dev/zero'));
		await process.done();
		equal(process.raw('stdout').length, 3_000_000, 'bytes notified');
		ok(size((await process.read()).chunks) <= MiB, 'at most 1 MiB retained');
	});

	core('exactly one mebibyte is retained whole', async t => {
		const process = await start(await t.open(), sh(`head -c ${MiB} /dev/zero`));
		await process.done();
		equal(size((await process.read()).chunks), MiB, 'bytes retained');
	});
});
