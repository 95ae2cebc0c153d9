// process/read: retained output by sequence number, in pages, with long polling.
import {equal, isError, ok} from '../lib/check.mjs';
import {answersAtOnce, bytes, letTimePass, SLEEP, sh, sleeper, start, startInSteps, textOf} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';
import {CLOCK_SLACK_MS, ENDLESS_MS, elapsedMs} from '../lib/time.mjs';

/** Four chunks of five bytes (seq 1 to 4), then exited (5) and closed (6). */
async function fourChunks(t) {
	const steps = ['printf aaaaa', 'printf bbbbb', 'printf ccccc >&2', 'printf ddddd', 'exit 0'];
	const process = await startInSteps(await t.open(), steps);
	const {events} = await process.done();
	equal(
		events.map(e => e.type),
		['output', 'output', 'output', 'output', 'exited', 'closed'],
		'events',
	);
	return process;
}

/** Starts a long poll and gives the server time to answer it too early; returns its request id. */
async function pendingPoll(t, process) {
	const poll = process.postRead({waitMs: ENDLESS_MS});
	await letTimePass(t);
	ok(!process.peer.replied(poll), 'no answer before there is anything to read');
	return poll;
}

export const tests = group('read', ({core}) => {
	core('read returns the chunks with seq, stream and data', async t => {
		const {chunks, nextSeq, exited, exitCode, closed, failure} = await (await fourChunks(t)).read();
		equal(
			chunks.map(c => [c.seq, c.stream, bytes(c.chunk).toString()]),
			[
				[1, 'stdout', 'aaaaa'],
				[2, 'stdout', 'bbbbb'],
				[3, 'stderr', 'ccccc'],
				[4, 'stdout', 'ddddd'],
			],
			'chunks',
		);
		equal(
			{nextSeq, exited, exitCode, closed, failure},
			{nextSeq: 7, exited: true, exitCode: 0, closed: true, failure: null},
			'state',
		);
	});

	core('a running process is not exited and has no exit code', async t => {
		const process = await start(await t.open(), sleeper());
		const {chunks, nextSeq, exited, exitCode, closed, failure} = await process.read();
		equal(
			{chunks, nextSeq, exited, exitCode, closed, failure},
			{chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false, failure: null},
			'state',
		);
	});

	core('afterSeq leaves out what was already seen', async t => {
		const process = await fourChunks(t);
		const seqs = async afterSeq => (await process.read({afterSeq})).chunks.map(c => c.seq);
		equal(await seqs(0), [1, 2, 3, 4], 'after 0');
		equal(await seqs(2), [3, 4], 'after 2');
		equal(await seqs(4), [], 'after 4');
		equal(await seqs(99), [], 'after 99');
	});

	core('reading does not consume', async t => {
		const process = await fourChunks(t);
		const [first, second] = [await process.read(), await process.read()];
		equal(second, first, 'second read');
	});

	core('null options mean defaults', async t => {
		const process = await fourChunks(t);
		equal(await process.read({afterSeq: null, maxBytes: null, waitMs: null}), await process.read(), 'read');
	});

	core('maxBytes limits a page and nextSeq continues it', async t => {
		const process = await fourChunks(t);
		const page = async (maxBytes, afterSeq) => {
			const {chunks, nextSeq} = await process.read({maxBytes, afterSeq});
			return [chunks.map(c => c.seq), nextSeq];
		};
		equal(await page(10), [[1, 2], 3], 'ten bytes');
		equal(await page(14), [[1, 2], 3], 'fourteen bytes');
		equal(await page(15), [[1, 2, 3], 4], 'fifteen bytes');
		equal(await page(10, 2), [[3, 4], 5], 'ten bytes after 2');
	});

	core('a page always holds at least one chunk', async t => {
		const {chunks, nextSeq} = await (await fourChunks(t)).read({maxBytes: 1});
		equal([chunks.map(c => c.seq), nextSeq], [[1], 2], '[seqs, nextSeq]');
	});

	core('paging from nextSeq - 1 yields everything once', async t => {
		const process = await fourChunks(t);
		let [text, afterSeq] = ['', 0];
		for (let page; (page = await process.read({maxBytes: 7, afterSeq})).chunks.length; afterSeq = page.nextSeq - 1)
			text += textOf(page.chunks);
		equal(text, 'aaaaabbbbbcccccddddd', 'all pages');
	});

	core('without waitMs read returns at once', async t => {
		const process = await start(await t.open(), sleeper());
		await answersAtOnce(t, 20, async () => {
			equal((await process.read()).chunks, [], 'chunks');
			equal((await process.read({waitMs: 0})).chunks, [], 'chunks with waitMs 0');
		});
	});

	core('a long poll ends empty when its time is up', async t => {
		const process = await start(await t.open(), sleeper());
		await answersAtOnce(t, 10, async () => {
			const tookMs = await elapsedMs(async () => {
				const {chunks, nextSeq} = await process.read({waitMs: 100});
				equal([chunks, nextSeq], [[], 1], '[chunks, nextSeq]');
			});
			ok(tookMs >= 100 - CLOCK_SLACK_MS, `at least 100 ms, got ${tookMs}`);
		});
	});

	core('a long poll ends when output arrives', async t => {
		const gate = t.gate();
		const process = await start(await t.open(), sh(`${gate.wait}; echo now; ${SLEEP}`));
		const poll = await pendingPoll(t, process);
		gate.open();
		const {result} = await process.peer.reply(poll);
		equal(textOf(result.chunks), 'now\n', 'output');
	});

	core('a long poll ends when the process ends', async t => {
		const gate = t.gate();
		const process = await start(await t.open(), sh(`${gate.wait}; exit 3`));
		const poll = await pendingPoll(t, process);
		gate.open();
		const {exited, exitCode} = (await process.peer.reply(poll)).result;
		equal([exited, exitCode], [true, 3], '[exited, exitCode]');
	});

	core('a long poll on a closed process returns at once', async t => {
		const process = await fourChunks(t);
		await answersAtOnce(t, 10, async () => {
			for (const afterSeq of [6, 99]) await process.read({afterSeq, waitMs: ENDLESS_MS});
		});
	});

	core('two long polls on one process both see the output', async t => {
		const gate = t.gate();
		const process = await start(await t.open(), sh(`${gate.wait}; echo both; ${SLEEP}`));
		const polls = [process.postRead({waitMs: ENDLESS_MS}), await pendingPoll(t, process)];
		gate.open();
		const replies = await Promise.all(polls.map(poll => process.peer.reply(poll)));
		equal(
			replies.map(({result}) => textOf(result.chunks)),
			['both\n', 'both\n'],
			'outputs',
		);
	});

	core('an unknown process is an invalid request', async t => {
		const peer = await t.open();
		isError(await peer.fail('process/read', {processId: 'nobody'}), -32600, 'unknown process id nobody');
		isError(
			await peer.fail('process/read', {processId: 'nobody', waitMs: ENDLESS_MS}),
			-32600,
			'unknown process id nobody',
		);
	});

	core('negative, fractional and textual numbers are invalid params', async t => {
		const {peer, id: processId} = await start(await t.open(), sleeper());
		for (const params of [{afterSeq: -1}, {afterSeq: 1.5}, {afterSeq: '1'}, {maxBytes: -1}, {waitMs: -1}]) {
			isError(await peer.fail('process/read', {processId, ...params}), -32602);
		}
	});

	core('maxBytes 0 still makes progress', async t => {
		const process = await startInSteps(await t.open(), ['printf a', 'printf b', 'exit 0']);
		await process.done();
		const seen = [];
		for (
			let afterSeq = 0, page;
			(page = await process.read({maxBytes: 0, afterSeq})).chunks.length;
			afterSeq = page.nextSeq - 1
		) {
			seen.push(textOf(page.chunks));
		}
		equal(seen, ['a', 'b'], 'pages');
	});

	core(
		'terminate is answered while a long poll is pending',
		{upstream: 'requests are handled one at a time unless --concurrent-requests is given'},
		async t => {
			const process = await start(await t.open(), sleeper());
			const poll = process.postRead({waitMs: ENDLESS_MS});
			equal(await process.terminate(), {running: true}, 'terminate');
			equal((await process.peer.reply(poll)).result.exited, true, 'exited');
		},
	);

	core('a process of another session is unknown', async t => {
		const [mine, yours] = [await t.open(), await t.open()];
		await start(mine, sleeper({processId: 'mine'}));
		isError(await yours.fail('process/read', {processId: 'mine'}), -32600, 'unknown process id mine');
		equal(await yours.call('process/terminate', {processId: 'mine'}), {running: false}, 'terminate');
		equal((await mine.call('process/read', {processId: 'mine'})).exited, false, 'exited');
	});
});
