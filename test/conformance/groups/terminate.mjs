// process/terminate kills the process group; process/signal interrupts it.
import {equal, isError, ok} from '../lib/check.mjs';
import {alive, command, run, SLEEP, sh, sleeper, start, untilDead} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

export const tests = group('terminate', ({core, current}) => {
	core('terminate ends a running process', async t => {
		const process = await start(await t.open(), sleeper());
		equal(await process.terminate(), {running: true}, 'terminate');
		const {events} = await process.done();
		equal(
			events.map(e => e.type),
			['exited', 'closed'],
			'events',
		);
	});

	core('a terminated process has exit code 137', async t => {
		const process = await start(await t.open(), sleeper());
		await process.terminate();
		equal((await process.done()).exitCode, 137, 'exit code');
	});

	core('an unknown process is not running', async t => {
		equal(await (await t.open()).call('process/terminate', {processId: 'nobody'}), {running: false}, 'terminate');
	});

	core('an exited process is not running', async t => {
		const process = await start(await t.open(), command(['true']));
		await process.done();
		equal(await process.terminate(), {running: false}, 'terminate');
	});

	core('terminate may be repeated', async t => {
		const process = await start(await t.open(), sleeper());
		await process.terminate();
		await process.terminate();
		await process.done();
		equal(await process.terminate(), {running: false}, 'terminate after exit');
	});

	core('children and grandchildren in the group die too', async t => {
		const process = await start(await t.open(), sh(`${SLEEP} & echo $!; sh -c "${SLEEP} & echo \\$!; wait" & wait`));
		await process.peer.until(() => process.text().split('\n').length === 3, 'two pids');
		const pids = process.text().trim().split('\n').map(Number);
		ok(pids.every(alive), 'two living descendants');
		await process.terminate();
		await process.done();
		for (const pid of pids) await untilDead(pid);
	});

	core('a process that ignores signals is killed', async t => {
		const process = await start(await t.open(), sh('trap "" TERM INT HUP; echo ready; while :; do sleep 0.05; done'));
		await process.shows('ready');
		await process.terminate();
		equal((await process.done()).exitCode, 137, 'exit code');
	});

	core('output from before the end is kept', async t => {
		const process = await start(await t.open(), sh(`echo precious; ${SLEEP}`));
		await process.shows('precious');
		await process.terminate();
		equal((await process.done()).stdout, 'precious\n', 'stdout');
	});

	core('the id stays reserved after terminate', async t => {
		const peer = await t.open();
		const process = await start(peer, sleeper({processId: 'held'}));
		await process.terminate();
		isError(
			await peer.fail('process/start', command(['true'], {processId: 'held'})),
			-32600,
			'process held already exists',
		);
	});

	core('other processes of the session live on', async t => {
		const peer = await t.open();
		const [doomed, other] = [
			await start(peer, sleeper()),
			await start(peer, sh('read -r _; exit 8', {pipeStdin: true})),
		];
		await doomed.terminate();
		await doomed.done();
		await other.write('\n');
		equal((await other.done()).exitCode, 8, 'exit code of the other process');
	});

	core('terminate without processId is invalid params', async t => {
		isError(await (await t.open()).fail('process/terminate', {}), -32602);
	});

	current('signal interrupt lets the process handle SIGINT', async t => {
		const process = await start(
			await t.open(),
			sh('trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.05; done'),
		);
		await process.shows('ready');
		equal(await process.signal('interrupt'), {}, 'signal');
		const {stdout, exitCode} = await process.done();
		equal([stdout, exitCode], ['ready\ncaught\n', 7], '[stdout, exit code]');
	});

	current('signal interrupt ends a process without a handler with code 130', async t => {
		const process = await start(await t.open(), sleeper());
		await process.signal('interrupt');
		equal((await process.done()).exitCode, 130, 'exit code');
	});

	current('signalling an unknown or exited process is no error', async t => {
		const peer = await t.open();
		equal(await peer.call('process/signal', {processId: 'nobody', signal: 'interrupt'}), {}, 'unknown process');
		await run(peer, command(['true'], {processId: 'gone'}));
		equal(await peer.call('process/signal', {processId: 'gone', signal: 'interrupt'}), {}, 'exited process');
	});

	current('an unknown signal is invalid params', async t => {
		const {peer, id: processId} = await start(await t.open(), sleeper());
		for (const signal of ['SIGTERM', 'terminate', 2, undefined])
			isError(await peer.fail('process/signal', {processId, signal}), -32602);
	});

	core('after the exit terminate leaves the remaining children alone', async t => {
		const gate = t.gate();
		const process = await start(await t.open(), sh(`(${gate.wait}; echo late) & exit 0`));
		await process.note('exited');
		equal(await process.terminate(), {running: false}, 'terminate');
		gate.open();
		equal((await process.done()).stdout, 'late\n', 'stdout');
	});

	core('terminate right after start works', async t => {
		const peer = await t.open();
		for (let i = 0; i < 10; i++) {
			const process = await start(peer, sh(`${SLEEP}; echo never`));
			await process.terminate();
			equal((await process.done()).stdout, '', 'stdout');
		}
	});

	current('a process may ignore the interrupt', async t => {
		const process = await start(await t.open(), sh('trap "" INT; echo ready; while :; do sleep 0.05; done'));
		await process.shows('ready');
		await process.signal('interrupt');
		// After the chunk with "ready"; the poll ends early should the process end.
		equal((await process.read({afterSeq: 1, waitMs: 300})).exited, false, 'exited');
		await process.terminate();
		await process.done();
	});
});
