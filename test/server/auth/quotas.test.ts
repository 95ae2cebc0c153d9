import {expect, test} from 'vitest';
import type {Grant} from '../../../src/server/auth/grant.js';
import type {ExecServer} from '../../../src/server/server.js';
import {refusal} from '../../helpers/process-api.js';
import {eventually} from '../../helpers/processes.js';
import {requestUpgrade} from '../../helpers/raw-http.js';
import {execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';
import {clientWith, fileWith, guarded, sha256} from '../../helpers/tokens.js';

function clientOf(server: ExecServer, grant: Grant, resume?: string): Promise<TestClient> {
	return TestClient.overMemory(server, grant).initialize(resume);
}

test('processes are counted by the name of the token, over all its sessions', async () => {
	const server = execServer();
	const grant: Grant = {name: 'ci', limits: {maxProcesses: 2}};
	const [one, two, other] = [
		await clientOf(server, grant),
		await clientOf(server, grant),
		await clientOf(server, {name: 'other'}),
	];
	await one.sh('a', 'read line', {pipeStdin: true});
	await two.sh('b', 'read line', {pipeStdin: true});
	expect(await refusal(two.sh('c', 'true'))).toMatchObject({
		message: 'the token ci runs 2 processes already, which is its limit',
		data: {code: 'PROCESS_LIMIT', context: {limit: 2, running: 2}},
	});
	await other.sh('x', 'true');
	await one.call('process/terminate', {processId: 'a'});
	await one.event('a', 'process/exited');
	await two.sh('d', 'true');
});

test('processes of the first protocol count as well', async () => {
	const client = await clientOf(execServer(), {name: 'ci', limits: {maxProcesses: 1}});
	await client.sh('a', 'read line', {pipeStdin: true});
	const params = {argv: ['/bin/sh'], cwd: '/', env: {}, tty: false};
	expect(await refusal(client.call('command/exec', params))).toMatchObject({
		message: 'the token ci runs 1 processes already, which is its limit',
	});
});

test('limits that were changed hold from the next connection on, for what runs already, too', async () => {
	const server = execServer();
	const first = await clientOf(server, {name: 'ci', limits: {maxProcesses: 1}});
	await first.sh('a', 'read line', {pipeStdin: true});
	expect(await refusal(first.sh('b', 'true'))).toMatchObject({data: {code: 'PROCESS_LIMIT'}});
	const second = await clientOf(server, {name: 'ci', limits: {maxProcesses: 2}});
	await second.sh('c', 'read line', {pipeStdin: true});
	expect(await refusal(first.sh('d', 'true'))).toMatchObject({data: {context: {limit: 2, running: 2}}});
});

test('a session without a connection still counts', async () => {
	const server = execServer();
	const grant: Grant = {name: 'ci', limits: {maxProcesses: 1}};
	const gone = await clientOf(server, grant);
	await gone.sh('a', 'read line', {pipeStdin: true});
	gone.rpc.destroy();
	await gone.untilClosed();
	const next = await clientOf(server, grant);
	expect(await refusal(next.sh('b', 'true'))).toMatchObject({data: {code: 'PROCESS_LIMIT'}});
});

test('connections beyond those of the token get 503, and room comes back', async () => {
	const path = fileWith(
		`[[tokens]]\nname = "ci"\nsha256 = "${sha256('one')}"\nmax_connections = 2\n` +
			`[[tokens]]\nname = "other"\nsha256 = "${sha256('two')}"\n`,
	);
	const {url, server} = await guarded({kind: 'tokens-file', path});
	const first = await clientWith(url, 'one');
	await clientWith(url, 'one');
	expect(await requestUpgrade(url, 'Bearer one')).toEqual([503, '']);
	expect(await requestUpgrade(url, 'Bearer three')).toEqual([401, 'invalid websocket bearer token']);
	await clientWith(url, 'two');
	first.rpc.destroy();
	await eventually(() => server.health()['connections'] === 2);
	await clientWith(url, 'one');
	expect(await requestUpgrade(url, 'Bearer one')).toEqual([503, '']);
});

test('a token that may have one connection gets one', async () => {
	const path = fileWith(`[[tokens]]\nname = "ci"\nsha256 = "${sha256('one')}"\nmax_connections = 1\n`);
	const {url} = await guarded({kind: 'tokens-file', path});
	await clientWith(url, 'one');
	expect(await requestUpgrade(url, 'Bearer one')).toEqual([503, '']);
});

test('many upgrades at once do not slip past the limit', async () => {
	const path = fileWith(`[[tokens]]\nname = "ci"\nsha256 = "${sha256('one')}"\nmax_connections = 3\n`);
	const {url, server} = await guarded({kind: 'tokens-file', path});
	const outcomes = await Promise.allSettled(Array.from({length: 20}, () => clientWith(url, 'one')));
	expect(outcomes.filter(({status}) => status === 'fulfilled')).toHaveLength(3);
	expect(server.health()).toMatchObject({connections: 3});
});

const KIB = 1024;

test('what a token keeps for late readers is bounded by its own limit, and others are not touched', async () => {
	const server = execServer();
	const grant: Grant = {name: 'ci', limits: {maxRetainedBytes: 64 * KIB}};
	const [small, large] = [await clientOf(server, grant), await clientOf(server, {name: 'large'})];
	for (const client of [small, large]) {
		for (const id of ['a', 'b']) {
			await client.sh(id, 'head -c 100000 /dev/zero');
			await client.done(id);
		}
	}
	expect(await kept(small)).toBeLessThanOrEqual(64 * KIB);
	expect(await kept(small)).toBeGreaterThan(0);
	expect(await kept(large)).toBe(200_000);
	expect(server.health()['retainedBytes']).toBe((await kept(small)) + 200_000);
});

test("the server's own bound takes from tokens within theirs, and the sums stay right", async () => {
	const server = execServer({retainBytesTotal: 128 * KIB});
	const grant: Grant = {name: 'ci', limits: {maxRetainedBytes: 120 * KIB}};
	const [one, other] = [await clientOf(server, grant), await clientOf(server, {name: 'other'})];
	for (const client of [one, other, one]) {
		const id = `p${Math.random()}`;
		await client.sh(id, 'head -c 100000 /dev/zero');
		await client.done(id);
	}
	const total = (await kept(one)) + (await kept(other));
	expect(total).toBeLessThanOrEqual(128 * KIB);
	expect(server.health()['retainedBytes']).toBe(total);
});

/** Bytes of output that all processes of the session still have. */
async function kept(client: TestClient): Promise<number> {
	let bytes = 0;
	for (const processId of new Set(client.events.map(({params}) => params.processId))) {
		const {chunks} = await client.call<{chunks: {chunk: string}[]}>('process/read', {processId});
		for (const {chunk} of chunks) bytes += Buffer.from(chunk, 'base64').length;
	}
	return bytes;
}
