import {describe, expect, test} from 'vitest';
import {ACCESS_SCOPES, type AccessScope, METHODS, requiredScope} from '../../../src/protocol/methods/method-table.js';
import {INVALID_REQUEST, type RpcError} from '../../../src/protocol/wire/error-codes.js';
import type {Grant} from '../../../src/server/auth/grant.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import {execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

const OBSERVE = [
	'process/read',
	'process/wait',
	'process/snapshot',
	'process/list',
	'process/attach',
	'process/detach',
	'process/waitFor',
	'process/screen',
	'process/logs',
];

function clientOf(grant: Grant | undefined, server = execServer()): Promise<TestClient> {
	return TestClient.overMemory(server, grant).initialize();
}

async function failure(client: TestClient, method: string, params: unknown): Promise<RpcError> {
	const outcome = await client.call(method, params).catch((error: unknown) => error);
	expect(outcome).toBeInstanceOf(Error);
	return outcome as RpcError;
}

/** What an answer says about a missing scope. */
function refusalIn(outcome: unknown): unknown {
	const {code, message, data} = outcome as RpcError;
	const {code: name, context} = (data ?? {}) as {code?: string; context?: unknown};
	return name === 'SCOPE_MISSING' ? {code, message, context} : undefined;
}

test('every request of a client needs exactly the scope of its kind', () => {
	for (const [name, declaration] of Object.entries(METHODS)) {
		if (declaration.from !== 'client') continue;
		const expected: AccessScope | undefined = /^(?:initialized?|environment\/daemon)$/.test(name)
			? undefined
			: OBSERVE.includes(name) || /^environment\/(?!upgrade)/.test(name)
				? 'observe'
				: /^(?:process|command)\/|^environment\/upgrade$/.test(name)
					? 'drive'
					: /^(?:fs|capabilit\w+|environmentConfig)\//.test(name)
						? 'files'
						: 'http';
		expect([name, requiredScope(declaration)]).toEqual([name, expected]);
	}
});

/** One request per scope that decodes, and is answered without harm. */
const SAMPLES: [string, AccessScope, unknown][] = [
	['process/list', 'observe', null],
	['process/read', 'observe', {processId: 'p'}],
	['process/wait', 'observe', {processId: 'p'}],
	['process/snapshot', 'observe', {processId: 'p'}],
	['environment/info', 'observe', null],
	['environment/status', 'observe', null],
	['process/start', 'drive', {processId: 'q', argv: ['true'], cwd: 'file:///', env: {}, tty: false}],
	['process/write', 'drive', {processId: 'p', chunk: ''}],
	['process/signal', 'drive', {processId: 'p', signal: 'interrupt'}],
	['process/terminate', 'drive', {processId: 'p'}],
	['process/closeStdin', 'drive', {processId: 'p'}],
	['process/resize', 'drive', {processId: 'p', rows: 1, cols: 1}],
	['command/exec/terminate', 'drive', {sessionId: 'session-1'}],
	['fs/getMetadata', 'files', {path: 'file:///'}],
	['fs/readFile', 'files', {path: 'file:///etc/hostname'}],
	['http/cancel', 'http', {requestId: 'r'}],
	['forward/close', 'http', {forwardId: 'f'}],
];

describe.each<[AccessScope[]]>([
	[[]],
	...ACCESS_SCOPES.map((scope): [AccessScope[]] => [[scope]]),
	[['files', 'http']],
])('a token with the scopes %j', scopes => {
	test.each(SAMPLES)('is told about %s whether it has %s', async (method, needed, params) => {
		const client = await clientOf({name: 'n', scopes});
		const outcome = await client.call(method, params).catch((error: unknown) => error);
		const allowed = scopes.includes(needed) || (needed === 'observe' && scopes.includes('drive'));
		const missing = {
			code: INVALID_REQUEST,
			message: `${method} needs the scope ${needed}, which this connection does not have`,
			context: {method, scope: needed},
		};
		expect(refusalIn(outcome)).toEqual(allowed ? undefined : missing);
	});
});

test('a connection without a grant, or with one that names no scopes, may do everything', async () => {
	for (const grant of [undefined, {name: 'n'}]) {
		const client = await clientOf(grant);
		for (const [method, , params] of SAMPLES) {
			const outcome = await client.call(method, params).catch((error: unknown) => error);
			expect(refusalIn(outcome)).toBeUndefined();
		}
	}
});

test('the handler of a refused start does not run', async () => {
	const client = await clientOf({name: 'n', scopes: ['observe', 'files', 'http']});
	await failure(client, 'process/start', SAMPLES.find(([name]) => name === 'process/start')![2]);
	expect(await client.call('process/list')).toMatchObject({processes: []});
	await failure(client, 'command/exec', {argv: ['true'], cwd: '/', env: {}, tty: false});
});

test('strictly the first protocol knows scopes as well', async () => {
	const client = await clientOf({name: 'n', scopes: ['files']}, execServer({protocol: 'v0'}));
	const params = {argv: ['true'], cwd: '/', env: {}, tty: false};
	expect(await failure(client, 'command/exec', params)).toMatchObject({
		code: INVALID_REQUEST,
		data: {code: 'SCOPE_MISSING', context: {method: 'command/exec', scope: 'drive'}},
	});
});

test('a missing handshake is told before a missing scope, and that before bad params', async () => {
	const [near, far] = memoryTransportPair();
	execServer().accept(far, {name: 'n', scopes: []});
	const client = new TestClient(near);
	expect((await failure(client, 'process/list', null)).message).toBe(
		'client must call initialize before using exec methods',
	);
	await client.initialize();
	expect(await failure(client, 'process/read', {})).toMatchObject({data: {code: 'SCOPE_MISSING'}});
});

test('a caller without the scope has none of its params decoded', async () => {
	const client = await clientOf({name: 'watcher', scopes: ['observe']});
	for (const method of ['fs/writeFile', 'process/start', 'http/request']) {
		expect(refusalIn(await failure(client, method, {nothing: 'that fits'}))).toMatchObject({code: INVALID_REQUEST});
	}
});

test('before the handshake is over bad params are reported first, whatever the scope', async () => {
	const client = TestClient.overMemory(execServer(), {name: 'watcher', scopes: ['observe']});
	expect(await failure(client, 'process/start', {})).toMatchObject({code: -32602});
	expect(await failure(client, 'process/terminate', {processId: 'p'})).toMatchObject({
		message: 'client must call initialize before using exec methods',
	});
});
