// The first protocol, exec-server.v0, as its README and its tests describe it:
// command/exec, command/exec/write, command/exec/terminate, command/exec/outputDelta, command/exec/exited.
// It contradicts the later protocol in places (unknown methods, malformed JSON, disconnects),
// so run this profile against a server that is in v0 mode.
import {realpathSync} from 'node:fs';
import {equal, isError, ok} from '../lib/check.mjs';
import {SLEEP, untilDead} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';
import {exec, shell, start} from '../lib/v0.mjs';

const loop = shell("printf 'ready\\n'; while IFS= read -r line; do printf 'echo:%s\\n' \"$line\"; done", {tty: true});

export const tests = group('v0', ({v0}) => {
	v0('initialize reports the protocol version', async t => {
		equal((await (await t.raw()).initialize()).protocolVersion, 'exec-server.v0', 'protocolVersion');
	});

	v0('initialize may only be sent once per connection', async t => {
		isError(
			await (await t.open()).fail('initialize', {clientName: 'c'}),
			-32600,
			'initialize may only be sent once per connection',
		);
	});

	v0('exec methods require initialize', async t => {
		isError(
			await (await t.raw()).fail('command/exec', shell('true')),
			-32600,
			'client must call initialize before using exec methods',
		);
	});

	v0('exec methods require initialized after initialize', async t => {
		const peer = await t.raw();
		await peer.call('initialize', {clientName: 'c'});
		isError(
			await peer.fail('command/exec', shell('true')),
			-32600,
			'client must send initialized before using exec methods',
		);
	});

	v0('initialized before initialize closes the connection', async t => {
		const peer = await t.raw();
		peer.notify('initialized', {});
		await peer.untilClosed();
	});

	v0('any other notification closes the connection', async t => {
		const peer = await t.open();
		peer.notify('process/outputDelta', {});
		await peer.untilClosed();
	});

	v0('an unknown method is an invalid request', async t => {
		isError(await (await t.open()).fail('process/unknown', {}), -32600, 'unknown method: process/unknown');
	});

	v0('malformed params are invalid params', async t => {
		isError(await (await t.open()).fail('command/exec', {sessionId: 'proc-1'}), -32602);
	});

	v0('messages carry no jsonrpc member', async t => {
		const peer = await t.open();
		await (await start(peer, shell('echo x'))).exited();
		ok(
			peer.inbox.every(m => !('jsonrpc' in m)),
			'no message with a jsonrpc member',
		);
	});

	v0('the server names sessions session-1, session-2, …', async t => {
		const peer = await t.open();
		equal(await peer.call('command/exec', shell(SLEEP)), {sessionId: 'session-1'}, 'first');
		equal(await peer.call('command/exec', shell('true')), {sessionId: 'session-2'}, 'second');
	});

	v0('every connection counts its own sessions', async t => {
		for (const peer of [await t.open(), await t.open()])
			equal((await start(peer, shell('true'))).id, 'session-1', 'session id');
	});

	v0('an empty argv is invalid params', async t => {
		isError(await (await t.open()).fail('command/exec', exec([])), -32602, 'argv must not be empty');
	});

	v0('a missing program is an internal error', async t => {
		isError(await (await t.open()).fail('command/exec', exec(['/no/such/program'])), -32603);
	});

	v0('stdout and stderr of a pipe-backed process are streamed', async t => {
		const session = await start(await t.open(), shell('echo out; echo err >&2; exit 7'));
		equal(await session.exited(), {sessionId: 'session-1', exitCode: 7}, 'command/exec/exited');
		await session.shows('out');
		await session.shows('err');
		equal([session.text('stdout'), session.text('stderr')], ['out\n', 'err\n'], '[stdout, stderr]');
	});

	v0('an output delta has sessionId, stream and chunk', async t => {
		const session = await start(await t.open(), shell('printf hello'));
		await session.shows('hello');
		equal(session.deltas, [{sessionId: 'session-1', stream: 'stdout', chunk: 'aGVsbG8='}], 'deltas');
	});

	v0('a terminal process streams to stdout and takes writes', async t => {
		const session = await start(await t.open(), loop);
		await session.shows('ready');
		equal(await session.write('hello\n'), {accepted: true}, 'write');
		await session.shows('echo:hello');
		ok(
			session.deltas.every(d => d.stream === 'stdout'),
			'only stdout',
		);
	});

	v0('writes to a pipe-backed process are rejected', async t => {
		const session = await start(await t.open(), shell(SLEEP));
		const error = await session.peer.fail('command/exec/write', {sessionId: session.id, chunk: 'aGk='});
		isError(error, -32600, 'stdin is closed for session session-1');
	});

	v0('writes to an unknown session are rejected', async t => {
		const error = await (await t.open()).fail('command/exec/write', {sessionId: 'missing', chunk: 'aGVsbG8K'});
		isError(error, -32600, 'unknown session id missing');
	});

	v0('terminate ends a running process', async t => {
		const session = await start(await t.open(), shell(SLEEP));
		equal(await session.terminate(), {running: true}, 'terminate');
		await session.exited();
	});

	v0('terminate of an unknown or ended session says it is not running', async t => {
		const peer = await t.open();
		equal(await peer.call('command/exec/terminate', {sessionId: 'missing'}), {running: false}, 'unknown');
		const session = await start(peer, shell('true'));
		await session.exited();
		equal(await session.terminate(), {running: false}, 'ended');
	});

	v0('cwd is an absolute native path', async t => {
		const dir = realpathSync(t.dir());
		const session = await start(await t.open(), exec(['pwd'], {cwd: dir}));
		await session.shows('\n');
		equal(session.text(), `${dir}\n`, 'pwd');
	});

	v0('a disconnect terminates the processes of the connection', async t => {
		const peer = await t.open();
		const session = await start(peer, shell(`echo $$; exec ${SLEEP}`));
		await session.shows('\n');
		peer.end();
		await untilDead(Number.parseInt(session.text(), 10));
	});
});
