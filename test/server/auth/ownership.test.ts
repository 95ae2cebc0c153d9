import {expect, test} from 'vitest';
import {INVALID_REQUEST, SESSION_ATTACHED} from '../../../src/protocol/wire/error-codes.js';
import type {Grant} from '../../../src/server/auth/grant.js';
import type {ExecServer} from '../../../src/server/server.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import {execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';
import {clientWith, fileWith, guarded, jwt, nowSeconds} from '../../helpers/tokens.js';

function connect(server: ExecServer, grant: Grant | undefined): TestClient {
	const [near, far] = memoryTransportPair();
	server.accept(far, grant);
	return new TestClient(near);
}

async function detached(server: ExecServer, grant: Grant | undefined, script?: string): Promise<string> {
	const client = await connect(server, grant).initialize();
	if (script !== undefined) await client.sh('p', script, {pipeStdin: true});
	client.rpc.destroy();
	await client.untilClosed();
	return client.sessionId;
}

const ANN: Grant = {name: 'ann'};

test.each<[Grant | undefined, Grant | undefined]>([
	[ANN, ANN],
	[ANN, {name: 'ann', scopes: ['drive']}],
	[
		{name: 'ann', scopes: ['files']},
		{name: 'ann', scopes: ['files']},
	],
	[undefined, undefined],
])('a session of %j is resumed by %j', async (owner, caller) => {
	const server = execServer();
	const id = await detached(server, owner);
	expect((await connect(server, caller).initialize(id)).sessionId).toBe(id);
});

test.each<[Grant | undefined, Grant | undefined]>([
	[ANN, {name: 'bob'}],
	[ANN, undefined],
	[undefined, ANN],
	[ANN, {name: 'Ann'}],
	[ANN, {name: ''}],
])('a session of %j is unknown to %j', async (owner, caller) => {
	const server = execServer();
	const id = await detached(server, owner);
	const client = connect(server, caller);
	await expect(client.initialize(id)).rejects.toMatchObject({
		code: INVALID_REQUEST,
		message: `unknown session id ${id}`,
	});
	await client.initialize();
});

test.each<[Grant, Grant]>([
	[ANN, {name: 'ann', scopes: ['observe']}],
	[ANN, {name: 'ann', scopes: ['observe', 'files', 'http']}],
	[ANN, {name: 'ann', scopes: []}],
	[
		{name: 'ann', scopes: ['drive']},
		{name: 'ann', scopes: ['observe']},
	],
	[
		{name: 'ann', scopes: ['observe', 'files']},
		{name: 'ann', scopes: ['observe', 'http']},
	],
])('a session of %j is unknown to %j, who would lock its owner out', async (owner, caller) => {
	const server = execServer();
	const id = await detached(server, owner);
	await expect(connect(server, caller).initialize(id)).rejects.toThrow(`unknown session id ${id}`);
	expect((await connect(server, owner).initialize(id)).sessionId).toBe(id);
});

test('a session that got processes is unknown to who may not see what they say', async () => {
	const server = execServer();
	const blind: Grant = {name: 'ann', scopes: ['files']};
	const id = await detached(server, blind);
	const driver = await connect(server, ANN).initialize(id);
	await driver.sh('p', 'read line', {pipeStdin: true});
	driver.rpc.destroy();
	await driver.untilClosed();
	await expect(connect(server, blind).initialize(id)).rejects.toThrow(`unknown session id ${id}`);
	expect((await connect(server, ANN).initialize(id)).sessionId).toBe(id);
});

test('sessions of a weaker token of the same name push none of its owner out', async () => {
	const server = execServer({maxDetachedSessions: 2});
	const mine = await detached(server, ANN);
	for (let count = 0; count < 5; count++) await detached(server, {name: 'ann', scopes: ['observe']});
	expect((await connect(server, ANN).initialize(mine)).sessionId).toBe(mine);
});

test('whether a session of somebody else is attached is not told either', async () => {
	const server = execServer();
	const {sessionId} = await connect(server, ANN).initialize();
	await expect(connect(server, {name: 'bob'}).initialize(sessionId)).rejects.toMatchObject({
		code: INVALID_REQUEST,
		message: `unknown session id ${sessionId}`,
	});
	await expect(connect(server, ANN).initialize(sessionId)).rejects.toMatchObject({code: SESSION_ATTACHED});
});

test('with signed tokens the subject is the owner, however many tokens it has', async () => {
	const secret = 'x'.repeat(32);
	const {url} = await guarded({kind: 'signed', secretPath: fileWith(secret), skewSeconds: 0});
	const token = (sub: string, more = 0): string => jwt(secret, {sub, exp: nowSeconds() + 60 + more});
	const first = await clientWith(url, token('ann'));
	const {sessionId} = first;
	await first.sh('p', 'echo mine; read line', {pipeStdin: true});
	await first.shows('p', 'mine');
	first.rpc.close();
	await first.untilClosed();
	await expect(clientWith(url, token('bob'), sessionId)).rejects.toThrow(`unknown session id ${sessionId}`);
	const again = await clientWith(url, token('ann', 1), sessionId);
	expect(await again.call('process/list')).toMatchObject({processes: [{processId: 'p'}]});
});
