// initialize / initialized: once, in order, and before anything else.
import {equal, isError, match, ok} from '../lib/check.mjs';
import {run, sh, uri} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

const before = 'client must call initialize before using exec methods';
const readFile = {path: uri('/etc/hostname')};
const read = {processId: 'p'};
const http = {method: 'GET', url: 'http://127.0.0.1:9/', requestId: 'r'};

export const tests = group('handshake', ({core, current}) => {
	core('initialize returns a non-empty session id', async t => {
		const {sessionId} = await (await t.raw()).initialize();
		ok(typeof sessionId === 'string' && sessionId.length > 0, `a session id string, got ${sessionId}`);
	});

	core('every connection gets its own session id', async t => {
		const [a, b] = [await t.open(), await t.open()];
		ok(a.sessionId !== b.sessionId, 'two different session ids');
	});

	core('initialize without clientName is invalid params', async t => {
		isError(await (await t.raw()).fail('initialize', {}), -32602);
	});

	core('initialize with a clientName that is no string is invalid params', async t => {
		isError(await (await t.raw()).fail('initialize', {clientName: 7}), -32602);
	});

	core('a rejected initialize can be repeated on the same connection', async t => {
		const peer = await t.raw();
		await peer.fail('initialize', {});
		await peer.initialize();
		equal((await run(peer, sh('exit 3'))).exitCode, 3, 'exit code');
	});

	core('a second initialize is refused', async t => {
		const error = await (await t.open()).fail('initialize', {clientName: 'again'});
		isError(error, -32600, 'initialize may only be sent once per connection');
	});

	core('a refused second initialize leaves the session usable', async t => {
		const peer = await t.open();
		await peer.fail('initialize', {clientName: 'again'});
		equal((await run(peer, sh('echo ok'))).stdout, 'ok\n', 'stdout');
	});

	core('process methods are refused before initialize', async t => {
		const peer = await t.raw();
		isError(await peer.fail('process/start', sh('true')), -32600, before);
		isError(await peer.fail('process/read', read), -32600, before);
	});

	core('filesystem methods are refused before initialize', async t => {
		const error = await (await t.raw()).fail('fs/readFile', readFile);
		isError(error, -32600, 'client must call initialize before using filesystem methods');
	});

	core('http/request is refused before initialize', async t => {
		const error = await (await t.raw()).fail('http/request', http);
		isError(error, -32600, 'client must call initialize before using http methods');
	});

	core('process methods are refused until initialized arrives', async t => {
		const peer = await t.raw();
		await peer.call('initialize', {clientName: 'c'});
		isError(
			await peer.fail('process/start', sh('true')),
			-32600,
			'client must send initialized before using exec methods',
		);
		peer.notify('initialized', {});
		equal((await run(peer, sh('exit 4'))).exitCode, 4, 'exit code');
	});

	core('filesystem methods are refused until initialized arrives', async t => {
		const peer = await t.raw();
		await peer.call('initialize', {clientName: 'c'});
		isError(
			await peer.fail('fs/readFile', readFile),
			-32600,
			'client must send initialized before using filesystem methods',
		);
	});

	core('initialized without params is accepted', async t => {
		const peer = await t.raw();
		await peer.call('initialize', {clientName: 'c'});
		peer.send({method: 'initialized'});
		equal((await run(peer, sh('exit 5'))).exitCode, 5, 'exit code');
	});

	core('a repeated initialized is harmless', async t => {
		const peer = await t.open();
		peer.notify('initialized', {});
		equal((await run(peer, sh('exit 6'))).exitCode, 6, 'exit code');
	});

	core('initialized before initialize closes the connection', async t => {
		const peer = await t.raw();
		peer.notify('initialized', {});
		await peer.untilClosed();
	});

	core('an unknown notification closes the connection', async t => {
		const peer = await t.open();
		peer.notify('process/outputDelta', {});
		await peer.untilClosed();
	});

	core('an unknown method is answered with method-not-found and named', async t => {
		const error = await (await t.open()).fail('process/levitate', {});
		isError(error, -32601, /process\/levitate/);
	});

	core('unknown members of params are ignored', async t => {
		const peer = await t.raw();
		await peer.initialize({flavour: 'vanilla'});
		equal((await run(peer, sh('exit 7', {flavour: 'vanilla'}))).exitCode, 7, 'exit code');
	});

	current('environment methods are refused before initialize', async t => {
		const peer = await t.raw();
		isError(
			await peer.fail('environment/info', {}),
			-32600,
			'client must call initialize before using environment info methods',
		);
		isError(
			await peer.fail('environment/status', {}),
			-32600,
			'client must call initialize before using environment status methods',
		);
	});

	current('the session id is a UUID', async t => {
		const {sessionId} = await t.open();
		match(sessionId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'session id');
	});

	core('initialize without any params is invalid params', async t => {
		const peer = await t.raw();
		isError(await peer.fail('initialize', undefined), -32602);
		isError(await peer.fail('initialize', null), -32602);
	});

	core('initialized sent as a request is an unknown method', async t => {
		isError(await (await t.open()).fail('initialized', {}), -32601);
	});

	core('initialized takes any params', async t => {
		const peer = await t.raw();
		await peer.call('initialize', {clientName: 'c'});
		peer.notify('initialized', [1, {two: 3}]);
		equal((await run(peer, sh('exit 2'))).exitCode, 2, 'exit code');
	});

	core('an unknown method is method-not-found even before initialize', async t => {
		isError(await (await t.raw()).fail('no/such', {}), -32601);
	});

	current('process/signal and the newer fs methods are refused before initialize', async t => {
		const peer = await t.raw();
		isError(await peer.fail('process/signal', {processId: 'p', signal: 'interrupt'}), -32600, before);
		for (const [method, params] of [
			['fs/canonicalize', {path: uri('/tmp')}],
			['fs/open', {handleId: 'h', path: uri('/tmp')}],
			['fs/readBlock', {handleId: 'h', offset: 0, len: 1}],
			['fs/close', {handleId: 'h'}],
		]) {
			isError(await peer.fail(method, params), -32600, 'client must call initialize before using filesystem methods');
		}
	});
});
