// The same protocol over stdin and stdout, one message per line; the end of stdin is the end of the server.
import {setTimeout as sleep} from 'node:timers/promises';
import {equal, isError, ok} from '../lib/check.mjs';
import {run, SLEEP, sh, start, untilDead} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const request = id => JSON.stringify({id, method: 'process/terminate', params: {processId: 'none'}});

async function ready(t) {
	const peer = t.stdio();
	await peer.initialize();
	return peer;
}

export const tests = group('stdio', ({core}) => {
	core('the handshake works over stdio', async t => {
		const {sessionId} = await t.stdio().initialize();
		ok(typeof sessionId === 'string' && sessionId.length > 0, 'a session id');
	});

	core('a process is run and reported over stdio', async t => {
		const {stdout, stderr, exitCode, events} = await run(await ready(t), sh('echo out; echo err >&2; exit 3'));
		equal([stdout, stderr, exitCode, events.at(-1).type], ['out\n', 'err\n', 3, 'closed'], 'result');
	});

	core('a terminal process works over stdio', async t => {
		const process = await start(await ready(t), sh('echo ready; read x; echo "got:$x"', {tty: true}));
		await process.shows('ready');
		await process.write('hello\n');
		await process.shows('got:hello');
	});

	core('output of processes never appears raw on stdout', async t => {
		const peer = await ready(t);
		await run(peer, sh('echo "{not json"; echo plain'));
		equal(
			peer.inbox.filter(m => m.unparsable),
			[],
			'lines that are no JSON',
		);
	});

	core('a line that is not JSON is answered with id -1', async t => {
		const peer = await ready(t);
		peer.write('not json');
		isError((await peer.find(m => m.id === -1)).error, -32600);
		equal(await peer.call('process/terminate', {processId: 'none'}), {running: false}, 'next reply');
	});

	core('blank lines are ignored and CRLF is accepted', async t => {
		const peer = await ready(t);
		peer.child.stdin.write(`\n   \n\r\n${request('crlf')}\r\n`);
		equal((await peer.reply('crlf')).result, {running: false}, 'result');
		ok(!peer.inbox.some(m => m.id === -1), 'no error');
	});

	core('several messages in one write and one message in several writes', async t => {
		const peer = await ready(t);
		peer.child.stdin.write(`${request('a')}\n${request('b')}\n`);
		equal((await peer.reply('b')).result, {running: false}, 'b');
		const text = request('c');
		for (const part of [text.slice(0, 10), text.slice(10, 30), `${text.slice(30)}\n`]) {
			peer.child.stdin.write(part);
			// Lets the server read the parts one by one; should they arrive together, the answer is the same.
			await sleep(30);
		}
		equal((await peer.reply('c')).result, {running: false}, 'c');
	});

	core('the server exits with 0 at the end of stdin', async t => {
		const peer = await ready(t);
		peer.end();
		equal((await peer.child.exited).code, 0, 'exit code');
	});

	core('at the end of stdin processes are killed', async t => {
		const peer = await ready(t);
		const process = await start(peer, sh(`echo $$; exec ${SLEEP}`));
		const pid = await process.pid();
		peer.end();
		await untilDead(pid);
	});

	core('methods are refused before initialize over stdio too', async t => {
		isError(
			await t.stdio().fail('process/start', sh('true')),
			-32600,
			'client must call initialize before using exec methods',
		);
	});

	core('ten megabytes of output come through complete', async t => {
		const process = await start(await ready(t), sh('head -c 10000000 /dev/zero'));
		await process.done();
		equal(process.raw('stdout').length, 10_000_000, 'bytes');
	});

	core('a batch line is answered with id -1', async t => {
		const peer = await ready(t);
		peer.write('[{"id":1,"method":"process/terminate","params":{"processId":"none"}}]');
		isError((await peer.find(m => m.id === -1)).error, -32600);
	});

	core('an unknown session cannot be resumed over stdio', async t => {
		isError(
			await t.stdio().fail('initialize', {clientName: 'c', resumeSessionId: 'none'}),
			-32600,
			'unknown session id none',
		);
	});
});
