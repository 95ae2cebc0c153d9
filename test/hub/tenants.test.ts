// covers: src/hub
// A token of one tenant reaches nothing of another.
import {expect, test} from 'vitest';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {environmentVia, type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {parseExposition} from '../helpers/prometheus.js';
import {
	clientRegistry,
	executorRegistry,
	openRelayPeer,
	scriptedExecutor,
	scriptedHarness,
	statusOfUpgrade,
} from '../helpers/relay-peers.js';

/** The hub as a tenant sees it: with tokens for everything that is its own. */
async function asTenant(hub: RunningHub, tenant: string): Promise<RunningHub> {
	const executorToken = (await hub.hub.tokens.create('executor', '*', tenant)).token;
	const clientToken = (await hub.hub.tokens.create('client', '*', tenant)).token;
	return {...hub, executorToken, clientToken};
}

async function get(hub: RunningHub, path: string): Promise<string> {
	const headers = {authorization: `Bearer ${hub.clientToken}`};
	return (await fetch(`${hub.url}${path}`, {headers})).text();
}

test('two tenants use the same id for different machines', async () => {
	const hub = await runningHub();
	const [red, blue] = [await asTenant(hub, 'red'), await asTenant(hub, 'blue')];
	await runningExecutor(red, 'devbox');
	const key = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
	await expect(clientRegistry(blue, 'devbox').connect(key)).rejects.toMatchObject({status: 409});
	const {server} = await runningExecutor(blue, 'devbox');
	await environmentVia(red, 'devbox').shell('true');
	await server.shutdown(0);
	// That of the other tenant goes on.
	expect((await environmentVia(red, 'devbox').shell('echo red')).stdout.text).toBe('red\n');
});

test('names, lists, news, tickets, authorizations and metrics of a tenant are its own', async () => {
	const hub = await runningHub();
	const [red, blue] = [await asTenant(hub, 'red'), await asTenant(hub, 'blue')];
	const refused = {status: 409, code: 'environment_offline'};
	const watching = await fetch(`${hub.url}/environments?watch=1`, {
		headers: {authorization: `Bearer ${blue.clientToken}`},
	});
	const executor = await scriptedExecutor(red, 'devbox', undefined, {}, 'red');
	const client = await scriptedHarness(red, 'devbox');
	const stream = client.claim();
	await eventually(() => executor.of(stream, 'resume').length === 1);

	for (const stranger of [blue, hub]) {
		await expect(clientRegistry(stranger, 'devbox').connect(client.key)).rejects.toMatchObject(refused);
		expect(JSON.parse(await get(stranger, '/environments'))).toEqual({environments: []});
	}
	expect(JSON.parse(await get(red, '/environments'))).toMatchObject({environments: [{id: 'devbox', tenant: 'red'}]});

	// An authorization of red is worth nothing to an executor of blue, and is used up by the attempt.
	const {registrationId} = executor.registration;
	const bundle = await clientRegistry(red, 'devbox').connect(client.key);
	const caller = {key: client.key, authorization: bundle.authorization, streamId: 'stream'};
	expect(await executorRegistry(blue, 'devbox').validate(registrationId, caller)).toBe(false);
	expect(await executorRegistry(red, 'devbox').validate(registrationId, caller)).toBe(false);

	// A ticket names its tenant, and is signed.
	for (const change of [
		(query: URLSearchParams) => query.set('tenant', 'blue'),
		(query: URLSearchParams) => query.delete('tenant'),
		(query: URLSearchParams) => query.append('tenant', 'blue'),
	]) {
		const ticket = new URL((await clientRegistry(red, 'devbox').connect(client.key)).url);
		change(ticket.searchParams);
		expect(await statusOfUpgrade(ticket.href)).toBe(401);
	}
	const honest = await clientRegistry(red, 'devbox').connect(client.key);
	await openRelayPeer(honest.url);

	// An executor of blue with the same name displaces nobody, and is news to blue only.
	const other = await scriptedExecutor(blue, 'devbox', executor.keys, {}, 'blue');
	expect(other.registration.registrationId).not.toBe(registrationId);
	const reader = watching.body!.pipeThrough(new TextDecoderStream()).getReader();
	expect((await reader.read()).value).toBe('{"id":"devbox","isOnline":true}\n');
	await reader.cancel();
	expect(executor.socket.readyState).toBe(executor.socket.OPEN);

	const {samples} = parseExposition(
		await (
			await fetch(`${hub.executorUrl ?? hub.url}/metrics`, {headers: {authorization: `Bearer ${blue.clientToken}`}})
		).text(),
	);
	expect(samples).toEqual([
		{name: 'longarm_hub_executors_online', labels: {}, value: 1},
		{name: 'longarm_hub_clients_connected', labels: {}, value: 0},
		{name: 'longarm_hub_streams_active', labels: {}, value: 0},
	]);
});

test('a name of a tenant that could be part of another key is refused', async () => {
	const {hub} = await runningHub();
	for (const tenant of ['', 'a.b', 'A', '-a', 'a/b', 'a'.repeat(33), '*', '>']) {
		await expect(async () => hub.tokens.create('client', '*', tenant)).rejects.toThrow('is no name of a tenant');
	}
});
