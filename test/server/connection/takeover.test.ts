// covers: src/server/connection/sessions.ts, src/server/connection/client-connection.ts, src/transports/node/ask-peer.ts
import {expect, test} from 'vitest';
import {TAKEOVER_MS} from '../../../src/server/connection/sessions.js';
import {outcomeOf} from '../../helpers/process-api.js';
import {eventually} from '../../helpers/processes.js';
import {type Joined, join, type Serving, serving} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

function attachedError(sessionId: string) {
	return {code: -32010, message: `session ${sessionId} is already attached to another connection`};
}

/** A client that holds a session and does not read, let alone answer, but whose kernel acknowledges. */
async function stuckHolder(host: Serving): Promise<Joined> {
	const holder = await join(host);
	await holder.client.sh('p', 'read line; echo "$line"', {pipeStdin: true});
	holder.socket.pause();
	return holder;
}

test('a session is taken from a connection that does not answer, with its processes, and that connection is closed', async () => {
	const host = await serving();
	const holder = await stuckHolder(host);
	const closed = new Promise<void>(resolve => holder.end.lifetime.add(resolve));
	const {client} = await join(host, holder.client.sessionId);
	await closed;
	expect(client.sessionId).toBe(holder.client.sessionId);
	await client.write('p', 'taken\n', 'w');
	expect((await client.done('p')).stdout).toBe('taken\n');
	expect(host.server.health()).toMatchObject({connections: 1, sessions: 1});
	expect(TAKEOVER_MS).toBe(2000);
});

test('the end of the connection that lost its session does not detach the one that has it', async () => {
	const host = await serving({detachedSessionMs: 0});
	const holder = await stuckHolder(host);
	const {client} = await join(host, holder.client.sessionId);
	await eventually(() => host.server.health()['connections'] === 1);
	await client.write('p', 'alive\n', 'w');
	expect((await client.done('p')).stdout).toBe('alive\n');
});

test('of many who want a session whose holder does not answer one gets it', async () => {
	const host = await serving();
	const {client: stuck} = await stuckHolder(host);
	const {sessionId} = stuck;
	const clients = await Promise.all(Array.from({length: 8}, () => TestClient.overWebSocket(host.url)));
	const outcomes = await Promise.all(clients.map(client => outcomeOf(client.initialize(sessionId))));
	const refused = outcomes.filter(outcome => outcome !== 'accepted');
	expect(refused).toEqual(Array.from({length: 7}, () => attachedError(sessionId)));
	const winner = clients[outcomes.indexOf('accepted')]!;
	await winner.write('p', 'mine\n', 'w');
	expect((await winner.done('p')).stdout).toBe('mine\n');
});

test('a holder that ends while it is asked leaves the session to the one who asked', async () => {
	const host = await serving();
	const holder = await stuckHolder(host);
	const other = await TestClient.overWebSocket(host.url);
	const resumed = other.initialize(holder.client.sessionId);
	holder.socket.destroy();
	await resumed;
	expect(other.sessionId).toBe(holder.client.sessionId);
});

test('a client that leaves while the holder is asked takes nothing', async () => {
	const host = await serving();
	const holder = await stuckHolder(host);
	const other = await TestClient.overWebSocket(host.url);
	other.initialize(holder.client.sessionId).catch(() => {});
	// The answer to a later request shows that the first one was read.
	await outcomeOf(other.call('process/terminate', {processId: 'p'}));
	other.rpc.destroy();
	await eventually(() => host.server.health()['connections'] === 1);
	await new Promise(resolve => setTimeout(resolve, TAKEOVER_MS + 100));
	holder.socket.resume();
	await holder.client.write('p', 'kept\n', 'w');
	expect((await holder.client.done('p')).stdout).toBe('kept\n');
});

test('requests that do not wait for the answer to a resumption are served or refused, never dropped', async () => {
	const host = await serving();
	const holder = await stuckHolder(host);
	const other = await TestClient.overWebSocket(host.url);
	const resumed = other.call('initialize', {clientName: 'c', resumeSessionId: holder.client.sessionId});
	other.rpc.notify('initialized', {});
	expect(await outcomeOf(other.call('process/terminate', {processId: 'p'}))).toEqual({
		code: -32600,
		message: 'client must call initialize before using exec methods',
	});
	expect(await outcomeOf(other.call('initialize', {clientName: 'c'}))).toEqual({
		code: -32600,
		message: 'initialize may only be sent once per connection',
	});
	expect(await resumed).toMatchObject({sessionId: holder.client.sessionId});
	expect(await other.call('process/terminate', {processId: 'p'})).toEqual({running: true});
});
