// process/write: raw bytes to a running process, each writeId applied once.
import {equal, isError, ok, oneOf} from '../lib/check.mjs';
import {answersAtOnce, base64, command, freshId, run, sh, start} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const open = {pipeStdin: true};
const accepted = {status: 'accepted'};

export const tests = group('stdin', ({core, current}) => {
	core('a line that is written is read by the process', async t => {
		const process = await start(await t.open(), sh('IFS= read -r line; echo "from-stdin:$line"', open));
		equal(await process.write('hello\n'), accepted, 'write');
		const {stdout, exitCode} = await process.done();
		equal([stdout, exitCode], ['from-stdin:hello\n', 0], '[stdout, exit code]');
	});

	core('writes arrive in order', async t => {
		const process = await start(await t.open(), sh('head -n 100', open));
		const ids = Array.from({length: 100}, (_, i) =>
			process.peer.post('process/write', {
				processId: process.id,
				chunk: Buffer.from(`${i}\n`).toString('base64'),
				writeId: `w${i}`,
			}),
		);
		for (const id of ids) equal((await process.peer.reply(id)).result, accepted, 'write');
		equal((await process.done()).stdout, Array.from({length: 100}, (_, i) => `${i}\n`).join(''), 'stdout');
	});

	core('every byte value passes through', async t => {
		const data = Buffer.from(Array.from({length: 256}, (_, i) => i));
		const process = await start(await t.open(), sh('head -c 256', open));
		await process.write(data);
		await process.done();
		equal(process.raw('stdout').toString('hex'), data.toString('hex'), 'bytes');
	});

	core('a write of one mebibyte is taken whole', async t => {
		const process = await start(await t.open(), sh('head -c 1048576 | wc -c', open));
		equal(await process.write(Buffer.alloc(1_048_576, 'x')), accepted, 'write');
		equal((await process.done()).stdout.trim(), '1048576', 'bytes counted');
	});

	core('an empty chunk is accepted', async t => {
		const process = await start(await t.open(), sh('read line; echo "got:$line"', open));
		equal(await process.write(''), accepted, 'empty write');
		await process.write('x\n');
		equal((await process.done()).stdout, 'got:x\n', 'stdout');
	});

	core('a write to an unknown process says unknownProcess', async t => {
		const write = {processId: 'nobody', chunk: 'aGk=', writeId: 'w'};
		equal(await (await t.open()).call('process/write', write), {status: 'unknownProcess'}, 'write');
	});

	core('a write to a process without stdin says stdinClosed', async t => {
		const gate = t.gate();
		const process = await start(await t.open(), sh(`${gate.wait}; if read x; then echo got; else echo eof; fi`));
		equal(await process.write('ignored\n'), {status: 'stdinClosed'}, 'write');
		gate.open();
		equal((await process.done()).stdout, 'eof\n', 'stdout');
	});

	core('a write to an exited process without stdin still says stdinClosed', async t => {
		const process = await start(await t.open(), command(['true']));
		await process.done();
		equal(await process.write('late\n'), {status: 'stdinClosed'}, 'write');
	});

	core('a chunk that is not base64 is invalid params', async t => {
		const {peer, id} = await start(await t.open(), command(['cat'], open));
		for (const chunk of ['!!!', 'YQ', 5])
			isError(await peer.fail('process/write', {processId: id, chunk, writeId: 'w'}), -32602);
	});

	core('a write pipelined behind its start is accepted or told to wait', async t => {
		const peer = await t.open();
		const params = command(['cat'], open);
		peer.post('process/start', params);
		const reply = await peer.reply(
			peer.post('process/write', {processId: params.processId, chunk: 'aGkK', writeId: 'w'}),
		);
		oneOf(reply.result?.status, ['accepted', 'starting'], 'status');
	});

	core('a terminal takes writes without pipeStdin', async t => {
		const process = await start(await t.open(), sh('read line; echo "got:$line"', {tty: true}));
		equal(await process.write('x\n'), accepted, 'write');
		await process.shows('got:x');
	});

	current('a repeated writeId is accepted but not applied again', async t => {
		const process = await start(await t.open(), sh('head -n 2', open));
		equal(await process.write('first\n', 'one'), accepted, 'first');
		equal(await process.write('first\n', 'one'), accepted, 'repeated');
		equal(await process.write('second\n', 'two'), accepted, 'second');
		equal((await process.done()).stdout, 'first\nsecond\n', 'stdout');
	});

	current('the same data under two writeIds is written twice', async t => {
		const process = await start(await t.open(), sh('head -n 2', open));
		await process.write('same\n', 'one');
		await process.write('same\n', 'two');
		equal((await process.done()).stdout, 'same\nsame\n', 'stdout');
	});

	current('an empty writeId is invalid params', async t => {
		const {peer, id} = await start(await t.open(), command(['cat'], open));
		const error = await peer.fail('process/write', {processId: id, chunk: 'aGk=', writeId: ''});
		isError(error, -32602, 'writeId must not be empty');
	});

	core('stdin of one process is not seen by another', async t => {
		const peer = await t.open();
		const [a, b] = await Promise.all(['a', 'b'].map(name => start(peer, sh(`read x; echo "${name}:$x"`, open))));
		await b.write('for b\n');
		await a.write('for a\n');
		equal([(await a.done()).stdout, (await b.done()).stdout], ['a:for a\n', 'b:for b\n'], 'both outputs');
	});

	core('a process that ignores its stdin exits normally', async t => {
		equal((await run(await t.open(), sh('exit 5', open))).exitCode, 5, 'exit code');
	});

	core('a write after exit is answered promptly', async t => {
		const process = await start(await t.open(), command(['true'], open));
		await process.done();
		const {peer, id: processId} = process;
		await answersAtOnce(t, 10, async () => {
			const late = peer.post('process/write', {processId, chunk: 'eA==', writeId: freshId('late')});
			const {result, error} = await peer.reply(late);
			ok(result?.status || error?.code === -32603, 'a status or an internal error');
		});
	});

	core('base64 must be standard, padded and clean', async t => {
		const {peer, id} = await start(await t.open(), command(['cat'], open));
		for (const chunk of ['_-8=', 'YQ ==', 'Y', '====', 'YQ==YQ==']) {
			isError(await peer.fail('process/write', {processId: id, chunk, writeId: 'w'}), -32602);
		}
	});

	core('a write without writeId is accepted', {upstream: 'writeId is required since mid 2026'}, async t => {
		const process = await start(await t.open(), sh('read x; echo "got:$x"', open));
		equal(await process.peer.call('process/write', {processId: process.id, chunk: base64('old\n')}), accepted, 'write');
		equal((await process.done()).stdout, 'got:old\n', 'stdout');
	});

	current('a writeId counts once whatever its chunk', async t => {
		const process = await start(await t.open(), sh('head -n 2', open));
		await process.write('kept\n', 'same');
		await process.write('dropped\n', 'same');
		await process.write('end\n', 'other');
		equal((await process.done()).stdout, 'kept\nend\n', 'stdout');
	});
});
