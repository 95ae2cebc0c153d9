// Sessions outlive their connection for a while and can be resumed by id.
import {equal, isError, ok} from '../lib/check.mjs';
import {Proc, run, SLEEP, sh, sleeper, start, textOf, untilDead} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';
import {CLOCK_SLACK_MS, DEADLINE_MS, elapsedMs, eventually} from '../lib/time.mjs';

/** Error code of a session that another connection holds. */
const ALREADY_ATTACHED = -32010;

async function detach(peer) {
	peer.end();
	await peer.untilClosed();
}

async function resume(t, peer, next) {
	next ??= await t.raw();
	await onceDetached(() => next.initialize({resumeSessionId: peer.sessionId}));
	for (const id of peer.started) next.started.add(id);
	return next;
}

/** Repeats a request to resume: the server may need a moment to notice that the old connection is gone. */
async function onceDetached(request) {
	const attempt = async () => {
		try {
			return await request();
		} catch (error) {
			if (error.code !== ALREADY_ATTACHED) throw error;
		}
	};
	return eventually(attempt, 'the session to be free', {everyMs: 50});
}

async function reconnect(t, peer) {
	await detach(peer);
	return resume(t, peer);
}

export const tests = group('sessions', ({core, current}) => {
	core('a dropped session is resumed under the same id', async t => {
		const first = await t.open();
		const second = await reconnect(t, first);
		equal(second.sessionId, first.sessionId, 'session id');
	});

	core('processes survive the reconnect', async t => {
		const first = await t.open();
		const {id} = await start(first, sleeper());
		const process = new Proc(await reconnect(t, first), id);
		const {exited, closed, failure} = await process.read();
		equal({exited, closed, failure}, {exited: false, closed: false, failure: null}, 'state');
		equal(await process.terminate(), {running: true}, 'terminate');
	});

	core('output and exit from while nobody was connected can be read', async t => {
		const first = await t.open();
		const gate = t.gate();
		const before = await start(first, sh(`echo $$; ${gate.wait}; echo unseen; exit 5`));
		const pid = await before.pid();
		await detach(first);
		gate.open();
		await untilDead(pid);
		const process = new Proc(await resume(t, first), before.id);
		const {chunks, exitCode, closed} = await eventually(async () => {
			const state = await process.read();
			return state.closed && state;
		}, 'the process to be closed');
		equal([textOf(chunks), exitCode, closed], [`${pid}\nunseen\n`, 5, true], '[output, exit code, closed]');
	});

	core('notifications go on over the new connection', async t => {
		const first = await t.open();
		const gate = t.gate();
		const before = await start(first, sh(`echo one; ${gate.wait}; echo two; exit 2`));
		await before.shows('one');
		const process = new Proc(await reconnect(t, first), before.id);
		equal((await process.read()).exited, false, 'exited');
		gate.open();
		await process.note('closed');
		await process.peer.until(() => process.events.length >= 3, 'three events');
		equal(process.text(), 'two\n', 'output on the new connection');
		equal(
			process.events.map(e => e.seq),
			[2, 3, 4],
			'seqs on the new connection',
		);
	});

	core('stdin can be written after the reconnect', async t => {
		const first = await t.open();
		const {id} = await start(first, sh('read x; echo "got:$x"', {pipeStdin: true}));
		const process = new Proc(await reconnect(t, first), id);
		equal(await process.write('hello\n'), {status: 'accepted'}, 'write');
		equal((await process.done()).stdout, 'got:hello\n', 'stdout');
	});

	core('a resumed connection also has to send initialized', async t => {
		const first = await t.open();
		await detach(first);
		const second = await t.raw();
		await onceDetached(() => second.call('initialize', {clientName: 'c', resumeSessionId: first.sessionId}));
		isError(
			await second.fail('process/read', {processId: 'p'}),
			-32600,
			'client must send initialized before using exec methods',
		);
	});

	core('an unknown session id is an invalid request', async t => {
		const id = '00000000-0000-4000-8000-000000000000';
		isError(
			await (await t.raw()).fail('initialize', {clientName: 'c', resumeSessionId: id}),
			-32600,
			`unknown session id ${id}`,
		);
	});

	core('a session that is attached elsewhere cannot be resumed', async t => {
		const {sessionId} = await t.open();
		const error = await (await t.raw()).fail('initialize', {clientName: 'c', resumeSessionId: sessionId});
		isError(error, ALREADY_ATTACHED, `session ${sessionId} is already attached to another connection`);
	});

	core('the holder of a session is not disturbed by an attempt to resume it', async t => {
		const holder = await t.open();
		await (await t.raw()).fail('initialize', {clientName: 'c', resumeSessionId: holder.sessionId});
		equal((await run(holder, sh('exit 3'))).exitCode, 3, 'exit code');
	});

	core('a null resumeSessionId means a new session', async t => {
		const {sessionId} = await (await t.raw()).initialize({resumeSessionId: null});
		ok(sessionId, 'a session id');
	});

	core('processes of one session are invisible to another', async t => {
		const [a, b] = [await t.open(), await t.open()];
		await start(a, sleeper({processId: 'private'}));
		isError(await b.fail('process/read', {processId: 'private'}), -32600, 'unknown process id private');
		await run(a, sh('echo x'));
		// Whatever was sent to the other connection arrives before this reply.
		await b.call('process/terminate', {processId: 'none'});
		ok(!b.inbox.some(m => m.method), 'no notification on the other connection');
	});

	core(
		'a session left alone for its retention time is gone with its processes, and not earlier',
		{slow: true},
		async t => {
			const peer = await t.open();
			const process = await start(peer, sh(`echo $$; exec ${SLEEP}`));
			const pid = await process.pid();
			const keptMs = await elapsedMs(async () => {
				await detach(peer);
				await untilDead(pid, t.retentionMs + DEADLINE_MS);
			});
			ok(keptMs >= t.retentionMs - CLOCK_SLACK_MS, `the session for ${t.retentionMs} ms, got ${keptMs}`);
			const error = await (await t.raw()).fail('initialize', {clientName: 'c', resumeSessionId: peer.sessionId});
			isError(error, -32600, `unknown session id ${peer.sessionId}`);
		},
	);

	core('after a graceful close the session can be resumed too', async t => {
		const first = await t.open();
		const gate = t.gate();
		const {id} = await start(first, sh(`${gate.wait}; exit 4`));
		first.socket.close(1000, 'bye');
		await first.untilClosed();
		const process = new Proc(await resume(t, first), id);
		equal((await process.read()).exited, false, 'exited');
		gate.open();
		equal((await process.note('exited')).exitCode, 4, 'exit code');
	});

	core('a failed resume leaves the connection free for a new session', async t => {
		const peer = await t.raw();
		await peer.fail('initialize', {clientName: 'c', resumeSessionId: 'no such session'});
		await peer.initialize();
		equal((await run(peer, sh('exit 3'))).exitCode, 3, 'exit code');
	});

	core('a refused resume can be repeated until the holder lets go', async t => {
		const [holder, waiting] = [await t.open(), await t.raw()];
		isError(await waiting.fail('initialize', {clientName: 'c', resumeSessionId: holder.sessionId}), ALREADY_ATTACHED);
		await detach(holder);
		await resume(t, holder, waiting);
		equal(waiting.sessionId, holder.sessionId, 'session id');
	});

	core('a session id of the wrong type is invalid params', async t => {
		isError(await (await t.raw()).fail('initialize', {clientName: 'c', resumeSessionId: 5}), -32602);
		isError(
			await (await t.raw()).fail('initialize', {clientName: 'c', resumeSessionId: ''}),
			-32600,
			'unknown session id ',
		);
	});

	current('a writeId is remembered across the reconnect', async t => {
		const first = await t.open();
		const before = await start(first, sh('head -n 2', {pipeStdin: true}));
		await before.write('one\n', 'w1');
		await detach(first);
		const process = new Proc(await resume(t, first), before.id);
		equal(await process.write('one\n', 'w1'), {status: 'accepted'}, 'repeated write');
		await process.write('two\n', 'w2');
		await process.note('closed');
		const {chunks} = await process.read();
		equal(chunks.map(c => Buffer.from(c.chunk, 'base64').toString()).join(''), 'one\ntwo\n', 'output');
	});
});
