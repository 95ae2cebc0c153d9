// covers: src/protocol/wire, src/rpc/rpc-connection.ts, src/server/connection/dispatch.ts
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import type {Backend} from '../src/processes/backends/backend.js';
import {METHODS} from '../src/protocol/methods/method-table.js';
import {parseMessage, type RequestId} from '../src/protocol/wire/envelope.js';
import {RpcError} from '../src/protocol/wire/error-codes.js';
import {MAX_MESSAGE_BYTES} from '../src/protocol/wire/message-limits.js';
import {MAX_JSON_DEPTH} from '../src/protocol/wire/strict-json.js';
import type {ExecServer} from '../src/server/server.js';
import {type LogFields, type Logger, silentLogger} from '../src/shared/logger.js';
import {memoryTransportPair} from '../src/transports/memory.js';
import {nativeBackend} from './helpers/children.js';
import {RawPeer} from './helpers/raw-peer.js';
import {execServer} from './helpers/serving.js';
import {linked} from './rpc/linked.js';

// Messages that `bench/fuzz.mjs` came upon, the nastiest of those that did no harm, and a short run of the same kind.

interface Reply {
	readonly id: unknown;
	readonly error?: {readonly code: number; readonly message: string};
}

function connect(server: ExecServer): RawPeer {
	const [near, far] = memoryTransportPair();
	server.accept(far);
	return new RawPeer(near);
}

async function initialized(server: ExecServer): Promise<RawPeer> {
	const peer = connect(server);
	await peer.ask({id: 'hello', method: 'initialize', params: {clientName: 'fuzz'}});
	peer.send({method: 'initialized'});
	return peer;
}

const LONG_NAME = `${'a'.repeat(63)}\u{1f980}`;

test('a name that is quoted in an error is not cut in the middle of a character', async () => {
	const peer = await initialized(execServer());
	const params = {handleId: 'h', path: 'file:///tmp/x', mode: LONG_NAME};
	const {error} = await peer.ask<Reply>({id: 1, method: 'fs/open', params});
	expect(error).toMatchObject({
		code: -32602,
		message: expect.stringContaining(`\`${'a'.repeat(63)}\uFFFD\``) as string,
	});
	expect(peer.texts.at(-1)).not.toMatch(/\\ud[89a-f]/i);
});

test('an error whose text is too long for a message is told without it', async () => {
	const {peer} = linked('server', {
		request: () => {
			throw new RpcError(-32602, 'x'.repeat(MAX_MESSAGE_BYTES));
		},
	});
	expect(await peer.ask({id: 1, method: 'm'})).toEqual({
		id: 1,
		error: {code: -32602, message: `the text of the error exceeds the message limit of ${MAX_MESSAGE_BYTES} bytes`},
	});
});

test('nobody waits for a process whose start was cancelled', async () => {
	const peer = await initialized(execServer());
	const start = {argv: ['/bin/true'], cwd: '/tmp', env: {}, tty: false};
	// The second start waits for the next tick, unless this machine is so slow that the requests are read in several ticks.
	for (let round = 1, isCancelled = false; !isCancelled; round++) {
		const processId = `second ${round}`;
		const ids = [1, 2, 3, 4, 5].map(id => 10 * round + id);
		const send = (index: number, method: string, params: object): void =>
			peer.send({id: ids[index]!, method, params: {processId, ...params}});
		send(0, 'process/start', {...start, processId: `first ${round}`});
		send(1, 'process/start', start);
		send(2, 'process/terminate', {});
		send(3, 'process/read', {waitMs: 2 ** 40});
		send(4, 'process/wait', {});
		const replies = (): Reply[] =>
			ids.flatMap(id => (peer.received as unknown as Reply[]).filter(reply => reply.id === id));
		await peer.until(() => replies().length === ids.length, 'the replies');
		const [, started, ...others] = replies();
		isCancelled = started!.error !== undefined;
		if (!isCancelled) continue;
		const unknown = {code: -32600, message: `unknown process id ${processId}`};
		expect(started!.error).toEqual({code: -32600, message: `process ${processId} start was cancelled`});
		expect(others).toMatchObject([{result: {running: true}}, {error: unknown}, {error: unknown}]);
	}
});

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

test.each([
	['the largest id', '{"id":9223372036854775807,"method":"m"}', '{"id":9223372036854775807,"error":{"code":-32601,'],
	['the smallest id', '{"id":-9223372036854775808,"method":"m"}', '{"id":-9223372036854775808,"error":{"code":-32601,'],
	['an id beyond it', '{"id":9223372036854775808,"method":"m"}', '{"id":-1,"error":{"code":-32600,'],
	['an id that only looks whole', '{"id":1e0,"method":"m"}', '{"id":-1,"error":{"code":-32600,'],
	['a negative zero', '{"id":-0,"method":"m"}', '{"id":0,"error":{"code":-32601,'],
	['an id that is our own sign for nonsense', '{"id":-1,"method":"m"}', '{"id":-1,"error":{"code":-32601,'],
	['an id in another spelling', '{"\\u0069d":7,"method":"m"}', '{"id":7,"error":{"code":-32601,'],
	['an id in both spellings', '{"\\u0069d":7,"id":7,"method":"m"}', '{"id":-1,"error":{"code":-32600,'],
	['an id with half a character', '{"id":"\\ud83d","method":"m"}', '{"id":-1,"error":{"code":-32600,'],
	['an id with a NUL', '{"id":"\\u0000","method":"m"}', '{"id":"\\u0000","error":{"code":-32601,'],
	['a message hidden in a prototype', '{"__proto__":{"id":1,"method":"m"}}', '{"id":-1,"error":{"code":-32600,'],
	['a method every object has', '{"id":1,"method":"toString"}', '{"id":1,"error":{"code":-32601,'],
	['the method __proto__', '{"id":1,"method":"__proto__"}', '{"id":1,"error":{"code":-32601,'],
	['a notification with an id', '{"id":1,"method":"initialized"}', '{"id":1,"error":{"code":-32601,'],
	["the server's own notification with an id", '{"id":1,"method":"process/exited"}', '{"id":1,"error":{"code":-32601,'],
	['a request that is a reply as well', '{"id":1,"method":"m","result":1}', '{"id":1,"error":{"code":-32601,'],
	['a byte order mark', '\uFEFF{"id":1,"method":"m"}', '{"id":-1,"error":{"code":-32600,'],
	['a NUL behind the message', '{"id":1,"method":"m"}\0', '{"id":-1,"error":{"code":-32600,'],
	['two messages in one', '{"id":1,"method":"m"}{"id":2,"method":"m"}', '{"id":-1,"error":{"code":-32600,'],
	['a string that holds a message', '"{\\"id\\":1,\\"method\\":\\"m\\"}"', '{"id":-1,"error":{"code":-32600,'],
	[
		'the deepest message',
		`{"id":1,"method":"m","params":${nested(MAX_JSON_DEPTH - 1)}}`,
		'{"id":1,"error":{"code":-32601,',
	],
	['a deeper one', `{"id":1,"method":"m","params":${nested(MAX_JSON_DEPTH)}}`, '{"id":-1,"error":{"code":-32600,'],
	['a very deep one', nested(100_000), '{"id":-1,"error":{"code":-32600,'],
	[
		'params hidden in a prototype',
		'{"id":1,"method":"process/snapshot","params":{"__proto__":{"processId":"p"}}}',
		'{"id":1,"error":{"code":-32602,',
	],
	[
		'an infinite number',
		'{"id":1,"method":"process/read","params":{"processId":"p","afterSeq":1e999}}',
		'{"id":1,"error":{"code":-32602,',
	],
	[
		'base64 whose low bytes would do',
		'{"id":1,"method":"process/write","params":{"processId":"p","chunk":"\u0141\u0141\u0141\u0141"}}',
		'{"id":1,"error":{"code":-32602,',
	],
	['an empty list for no params', '{"id":1,"method":"process/list","params":[]}', '{"id":1,"error":{"code":-32602,'],
	[
		'a signal nobody has',
		'{"id":1,"method":"process/signal","params":["p",{"name":"__proto__"}]}',
		'{"id":1,"error":{"code":-32602,',
	],
])('%s is answered once and nothing else happens', async (_, text, start) => {
	const peer = await initialized(execServer());
	const before = peer.texts.length;
	peer.send(text);
	peer.send({id: 'probe', method: 'environment/status'});
	await peer.until(() => peer.texts.length >= before + 2, 'the replies');
	expect(peer.texts[before]!.slice(0, start.length)).toBe(start);
	expect(JSON.parse(peer.texts[before + 1]!)).toEqual({id: 'probe', result: {status: 'ready'}});
});

/** Nothing but `true` is ever started, whatever a message asks for. */
function harmless(backend: Backend): Backend {
	return {
		name: 'harmless',
		spawn: (request, events) =>
			backend.spawn({...request, file: '/bin/true', argv: ['true'], cwd: Buffer.from('/')}, events),
	};
}

// Methods that touch files and networks are left to the fuzzer, which watches what it names.
const METHODS_TRIED = Object.keys(METHODS).filter(name => /^(?:process|command|environment|initialize$)/.test(name));
const NASTY = ['', '\0', 'p1', '__proto__', '\uFEFF', '\u{1f980}', LONG_NAME, 'eA', 'e===', 'file:///%00', '/'];
const MEMBERS =
	'processId argv cwd env tty pipeStdin arg0 envPolicy sandbox io timeoutMs onDisconnect afterSeq maxBytes waitMs chunk ' +
	'writeId signal mode rows cols sessionId clientName resumeSessionId configPaths requirementsPaths __proto__';
const RAW = ['1e999', '-0', '9223372036854775808', '"\\ud800"', '{"a":1,"a":2}', '01', 'NaN', nested(200), '"\t"'];

const text = fc.oneof(fc.constantFrom(...NASTY), fc.string({maxLength: 8}));
const number = fc.oneof(fc.integer(), fc.double({noNaN: true}), fc.constantFrom(2 ** 31, 2 ** 53, 2 ** 64, -1, 0.5));
const value = fc.oneof(text, number, fc.constantFrom(null, true, false, [], {}), fc.jsonValue({maxDepth: 3}));
const processId = fc.constantFrom('p1', 'p2', 'p3', '');
const startParams = fc.record({
	processId,
	argv: fc.array(fc.oneof(fc.constant('true'), text), {maxLength: 3}),
	cwd: fc.constantFrom('file:///tmp', '/tmp', 'file:///C:/x', ''),
	env: fc.constant({PATH: '/bin'}),
	tty: fc.boolean(),
	pipeStdin: fc.boolean(),
});
const params = fc.oneof(
	{weight: 3, arbitrary: startParams},
	{weight: 3, arbitrary: fc.record({processId, chunk: fc.constantFrom('', 'eA==', 'eA'), waitMs: fc.nat()})},
	{weight: 2, arbitrary: fc.dictionary(fc.constantFrom(...MEMBERS.split(' ')), value, {maxKeys: 6})},
	{weight: 1, arbitrary: fc.array(value, {maxLength: 6})},
	{weight: 1, arbitrary: value},
);
const request = fc
	.record({id: fc.oneof(fc.integer(), text, value), method: fc.constantFrom(...METHODS_TRIED, ...NASTY), params})
	.map(message => JSON.stringify(message));
const spoilt = fc
	.tuple(request, fc.nat(), fc.nat(3), fc.oneof(fc.constantFrom(...RAW), text))
	.map(([whole, at, cut, what]) => {
		const position = at % (whole.length + 1);
		return whole.slice(0, position) + what + whole.slice(position + cut);
	});
const anyMessage = fc.oneof(
	{weight: 3, arbitrary: request},
	{weight: 2, arbitrary: spoilt},
	{weight: 1, arbitrary: text},
);

test('of thousands of mutated messages each is answered once, and no handler fails', async () => {
	const failures: LogFields[] = [];
	const logger: Logger = {
		...silentLogger,
		error: (message, fields) => failures.push({message, ...fields}),
		with: () => logger,
	};
	const backend = harmless(nativeBackend());
	const server = execServer({backend: () => backend, logger, retainClosedMs: 20, detachedSessionMs: 0});
	let answered = 0;
	await fc.assert(
		fc.asyncProperty(fc.array(anyMessage, {minLength: 20, maxLength: 60}), async texts => {
			const peer = await initialized(server);
			// Nothing is wrong with hanging up on the others.
			const sent = texts.map(each => ({message: parseMessage(each), text: each}));
			const asked = sent.filter(({message}) => message.kind === 'request' || message.kind === 'malformed');
			for (const each of asked) peer.send(each.text);
			const expected = asked.map(({message}) => (message.kind === 'request' ? idText(message.id) : '-1'));
			await peer.until(() => repliesOf(peer).length > expected.length, 'the replies');
			peer.send({id: 'probe', method: 'environment/status'});
			await peer.until(() => peer.texts.includes('{"id":"probe","result":{"status":"ready"}}'), 'the probe');
			expect(repliesOf(peer).map(idOf).sort()).toEqual(['"hello"', '"probe"', ...expected].sort());
			expect(failures).toEqual([]);
			answered += expected.length;
			peer.transport.close();
		}),
		{seed: 20_261_115, numRuns: 100},
	);
	expect(answered).toBeGreaterThan(3000);
});

function repliesOf(peer: RawPeer): string[] {
	return peer.texts.filter(each => each.startsWith('{"id":'));
}

/** The id of a reply, with all its digits. */
function idOf(reply: string): string {
	return /^\{"id":("(?:[^"\\]|\\.)*"|-?\d+)/.exec(reply)![1]!;
}

function idText(id: RequestId): string {
	return typeof id === 'string' ? JSON.stringify(id) : String(id);
}
