// The process API that the first design document proposes on top of start, write and terminate:
// closeStdin, resize, wait, snapshot, and a terminate that can be graceful or forced.
//
// The document gives names and Rust types; these tests use the obvious JSON for them:
// - The process is named by `processId` and, with the same value, by `sessionId`, the name in the document.
// - process/start takes `io`: {"pty":{"rows":24,"cols":80}} or {"pipe":{"stdin":"open"|"closed"}};
//   `tty` and `pipeStdin` of the later protocol are sent along and say the same.
// - process/write is the one of the later protocol.
// - process/closeStdin {processId}                 -> any result; the process reads the end of file.
// - process/resize     {processId, rows, cols}     -> any result; an error without a terminal.
// - process/wait       {processId}                 -> {exitCode}, once the process has exited.
// - process/snapshot   {processId}                 -> {stdout, stderr, terminal, truncated, exitCode, running};
//   the three outputs are base64, exitCode is null while the process runs.
// - process/terminate  {processId, mode}           -> {running}; mode is {"graceful":{"timeoutMs":500}} or "force".
// The cap of retained output is left to the server; the tests only rely on it being less than 20 MiB.
import {equal, ok} from '../lib/check.mjs';
import {designed, snapshotOf} from '../lib/design.mjs';
import {answersAtOnce, SLEEP} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';
import {CLOCK_SLACK_MS, ENDLESS_MS, elapsedMs} from '../lib/time.mjs';

const MiB = 1024 * 1024;

export const tests = group('design', ({design}) => {
	design('closeStdin is the end of file for the process', async t => {
		const process = await designed(t, 'wc -c', {pipe: {stdin: 'open'}});
		await process.write('12345');
		await process.call('closeStdin');
		equal((await process.call('wait')).exitCode, 0, 'exit code');
		await process.until(s => s.stdout.trim() === '5');
	});

	design('after closeStdin a write finds stdin closed', async t => {
		const process = await designed(t, `cat; ${SLEEP}`, {pipe: {stdin: 'open'}});
		await process.call('closeStdin');
		equal(await process.write('too late'), {status: 'stdinClosed'}, 'write');
	});

	design('wait answers once the process has exited', async t => {
		const gate = t.gate();
		const process = await designed(t, `${gate.wait}; exit 7`);
		const waiting = process.post('wait');
		equal((await process.call('snapshot')).running, true, 'running');
		ok(!process.peer.replied(waiting), 'no answer before the exit');
		gate.open();
		equal((await process.peer.reply(waiting)).result?.exitCode, 7, 'exit code');
	});

	design('wait on an exited process answers at once', async t => {
		const process = await designed(t, 'exit 3');
		await process.call('wait');
		await answersAtOnce(t, 20, async () => equal((await process.call('wait')).exitCode, 3, 'exit code'));
	});

	design('a pending wait does not block other requests', async t => {
		const process = await designed(t, SLEEP);
		const waiting = process.post('wait');
		equal((await process.call('snapshot')).running, true, 'running');
		await process.call('terminate', {mode: 'force'});
		ok((await process.peer.reply(waiting)).result, 'an answer to wait after the end');
	});

	design('a snapshot keeps stdout and stderr apart', async t => {
		const process = await designed(t, 'echo out; echo err >&2; exit 2');
		await process.call('wait');
		equal(
			await process.until(s => s.stdout.endsWith('\n') && s.stderr.endsWith('\n')),
			{stdout: 'out\n', stderr: 'err\n', terminal: '', truncated: false, exitCode: 2, running: false},
			'snapshot',
		);
	});

	design('a snapshot of a running process', async t => {
		const process = await designed(t, `echo so far; ${SLEEP}`);
		await process.until(s => s.stdout === 'so far\n');
		const {exitCode, running, truncated} = await snapshotOf(process);
		equal({exitCode, running, truncated}, {exitCode: null, running: true, truncated: false}, 'state');
	});

	design('a snapshot of a terminal is one stream', async t => {
		const process = await designed(t, 'echo out; echo err >&2', {pty: {rows: 24, cols: 80}});
		await process.call('wait');
		const {stdout, stderr, terminal} = await process.until(s => s.terminal.includes('err\r\n'));
		equal({stdout, stderr, terminal}, {stdout: '', stderr: '', terminal: 'out\r\nerr\r\n'}, 'output');
	});

	design('a long output is kept at its head and its tail and marked truncated', async t => {
		const process = await designed(t, `echo the-head; head -c ${20 * MiB} /dev/zero; echo; echo the-tail`);
		await process.call('wait');
		const {stdout, truncated} = await process.until(s => s.stdout.endsWith('\nthe-tail\n'));
		equal(truncated, true, 'truncated');
		ok(stdout.length < 20 * MiB, `less than 20 MiB retained, got ${stdout.length}`);
		ok(stdout.startsWith('the-head\n'), 'the head of the output');
	});

	design('resize changes the size that the terminal reports', async t => {
		const process = await designed(t, 'stty size; read x; stty size', {pty: {rows: 24, cols: 80}});
		await process.until(s => s.terminal.includes('24 80'));
		await process.call('resize', {rows: 50, cols: 132});
		await process.write('\n');
		await process.until(s => s.terminal.includes('50 132'));
	});

	design('a terminal starts with the size it was asked for', async t => {
		const process = await designed(t, 'stty size', {pty: {rows: 40, cols: 100}});
		await process.until(s => s.terminal.includes('40 100'));
	});

	design('a graceful terminate lets the process clean up', async t => {
		const process = await designed(t, 'trap "echo bye; exit 5" TERM INT HUP; echo ready; while :; do sleep 0.05; done');
		await process.until(s => s.stdout === 'ready\n');
		equal(await process.call('terminate', {mode: {graceful: {timeoutMs: ENDLESS_MS}}}), {running: true}, 'terminate');
		equal((await process.call('wait')).exitCode, 5, 'exit code');
		await process.until(s => s.stdout === 'ready\nbye\n');
	});

	design('a graceful terminate kills once its time is up', async t => {
		const process = await designed(t, 'trap "" TERM INT HUP; echo ready; while :; do sleep 0.05; done');
		await process.until(s => s.stdout === 'ready\n');
		const tookMs = await elapsedMs(async () => {
			await process.call('terminate', {mode: {graceful: {timeoutMs: 500}}});
			await process.call('wait');
		});
		ok(tookMs >= 500 - CLOCK_SLACK_MS, `at least 500 ms of grace, got ${tookMs}`);
	});

	design('a forced terminate kills at once', async t => {
		const process = await designed(t, 'trap "echo bye; exit 5" TERM INT HUP; echo ready; while :; do sleep 0.05; done');
		await process.until(s => s.stdout === 'ready\n');
		equal(await process.call('terminate', {mode: 'force'}), {running: true}, 'terminate');
		const {exitCode} = await process.call('wait');
		ok(exitCode !== 5, 'the process to be killed before it can clean up');
		equal((await snapshotOf(process)).stdout, 'ready\n', 'stdout');
	});
});
