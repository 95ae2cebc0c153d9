// Sequence numbers: contiguous from 1, exited before closed, closed last and only once all streams have ended.
import {equal, ok} from '../lib/check.mjs';
import {command, letTimePass, run, sh, start} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const seqs = events => events.map(e => e.seq);
const upTo = n => Array.from({length: n}, (_, i) => i + 1);

export const tests = group('ordering', ({core}) => {
	core('seq counts output, exited and closed without gaps from 1', async t => {
		const {events} = await run(
			await t.open(),
			sh('i=0; while [ $i -lt 30 ]; do echo $i; echo $i >&2; i=$((i+1)); done; exit 2'),
		);
		equal(seqs(events), upTo(events.length), 'seqs');
	});

	core('there is one exited and one closed, and closed is last', async t => {
		const {events} = await run(await t.open(), sh('echo x; exit 2'));
		equal(events.filter(e => e.type === 'exited').length, 1, 'exited events');
		equal(events.filter(e => e.type === 'closed').length, 1, 'closed events');
		equal(events.at(-1).type, 'closed', 'last event');
	});

	core('a silent process is exited 1, closed 2', async t => {
		const {events} = await run(await t.open(), command(['true']));
		equal(
			events.map(e => [e.seq, e.type]),
			[
				[1, 'exited'],
				[2, 'closed'],
			],
			'[seq, type]',
		);
	});

	core('output of a child that outlives its parent comes between exited and closed', async t => {
		const gate = t.gate();
		const script = `(${gate.wait}; echo late) & echo early; read -r _; exit 3`;
		const process = await start(await t.open(), sh(script, {pipeStdin: true}));
		await process.shows('early');
		await process.write('\n');
		await process.note('exited');
		gate.open();
		const {events, stdout} = await process.done();
		equal(stdout, 'early\nlate\n', 'stdout');
		equal(
			events.map(e => e.type),
			['output', 'exited', 'output', 'closed'],
			'events',
		);
	});

	core('closed waits for the child that holds stdout, and read says so', async t => {
		const gate = t.gate();
		const process = await start(await t.open(), sh(`(${gate.wait}; echo late) & exit 3`));
		const {seq} = await process.note('exited');
		const {exited, exitCode, closed} = await process.read({afterSeq: seq, waitMs: 300});
		equal({exited, exitCode, closed}, {exited: true, exitCode: 3, closed: false}, 'state');
		ok(!process.events.some(e => e.type === 'closed'), 'no closed yet');
		gate.open();
		equal((await process.done()).stdout, 'late\n', 'stdout');
	});

	core('lines of one stream keep their order', async t => {
		const {stdout} = await run(await t.open(), sh('seq 1 5000'));
		equal(stdout, upTo(5000).join('\n') + '\n', 'stdout');
	});

	core('chunks of one stream arrive in seq order', async t => {
		const process = await start(await t.open(), sh('seq 1 20000'));
		await process.done();
		const arrived = process.peer.notes('process/output').map(p => p.seq);
		equal(
			arrived,
			[...arrived].sort((a, b) => a - b),
			'arrival order',
		);
	});

	core('every notification names its process', async t => {
		const peer = await t.open();
		await Promise.all(['x', 'y', 'z'].map(name => run(peer, sh(`echo ${name}`, {processId: name}))));
		for (const name of ['x', 'y', 'z']) {
			const output = peer.notes('process/output').filter(p => p.processId === name);
			equal(
				output.map(p => Buffer.from(p.chunk, 'base64').toString()),
				[`${name}\n`],
				`output of ${name}`,
			);
		}
	});

	core('nothing follows closed', async t => {
		const gate = t.gate();
		const process = await start(await t.open(), sh(`echo x; (${gate.wait}; echo y) & exit 0`));
		await process.note('exited');
		gate.open();
		const {events} = await process.done();
		await letTimePass(t);
		// Events that are on their way arrive before this reply.
		await process.read();
		equal(process.events.length, events.length, 'events');
	});

	core('exited is sent while output streams are still open', async t => {
		const gate = t.gate();
		const process = await start(await t.open(), sh(`(${gate.wait}) & exit 4`));
		equal((await process.note('exited')).exitCode, 4, 'exit code');
		ok(!process.events.some(e => e.type === 'closed'), 'no closed while a child holds stdout');
		gate.open();
		await process.done();
	});
});
