// covers: src/server/connection, src/shared/id-table.ts, src/server/fs-worker/sandbox-routing.ts
import {once} from 'node:events';
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {createServer, type Socket} from 'node:net';
import {join as joinPath} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import type {ClientConnection} from '../../src/server/connection/client-connection.js';
import {disconnect} from '../helpers/disconnect.js';
import {uri} from '../helpers/files.js';
import {GatedBackend} from '../helpers/gated-backend.js';
import {openFilesBelow} from '../helpers/open-files.js';
import {eventually} from '../helpers/processes.js';
import {glob, policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer, join, serving} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

/** Directories that this process watches. */
function countWatches(): number {
	const lines = readdirSync('/proc/self/fdinfo').flatMap(fd => {
		try {
			return readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1').split('\n');
		} catch {
			return [];
		}
	});
	return lines.filter(line => line.startsWith('inotify wd:')).length;
}

/** A port, and the connections to it that are open. */
async function openPort(): Promise<{port: number; sockets: Set<Socket>}> {
	const sockets = new Set<Socket>();
	const server = createServer(socket => {
		sockets.add(socket);
		socket.on('error', () => {}).on('close', () => sockets.delete(socket));
		socket.resume();
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	onTestFinished(() => {
		server.close();
		for (const socket of sockets) socket.destroy();
	});
	return {port: (server.address() as {port: number}).port, sockets};
}

/** A policy that restricts no file, and takes a while to resolve. */
const SLOW_POLICY = policy([root('write'), glob('/nonexistent-place/*', 'none')]);

/** Requests that leave something with their connection. */
const METHODS: [string, (place: string, port: number) => object][] = [
	['fs/watch', place => ({watchId: 'w', path: uri(place), recursive: true})],
	['fs/watchMissing', place => ({watchId: 1, missing: [uri(place, 'missing')], present: null})],
	['fs/open', place => ({handleId: 'h', path: uri(place, 'file'), mode: 'read'})],
	['fs/pack', place => ({handleId: 'h', path: uri(place)})],
	['fs/unpack', place => ({handleId: 'h', path: uri(place)})],
	['fs/list', place => ({handleId: 'h', path: uri(place)})],
	['fs/search', place => ({searchId: 's', path: uri(place), contents: {pattern: 'x'}})],
	['forward/open', (_, port) => ({forwardId: 'f', port})],
	[
		'http/request',
		(_, port) => ({requestId: 'r', method: 'GET', url: `http://127.0.0.1:${port}/`, headers: [], streamResponse: true}),
	],
];

async function setUp(): Promise<{
	place: string;
	port: number;
	end: ClientConnection;
	isClean: () => boolean;
	leave: () => Promise<void>;
}> {
	const place = scratchDirectory();
	mkdirSync(joinPath(place, 'directory'));
	writeFileSync(joinPath(place, 'file'), 'text');
	const {port, sockets} = await openPort();
	const watches = countWatches();
	const {client, end} = await join(await serving({variables: {}, allowForward: 'loopback'}));
	const isClean = (): boolean => countWatches() === watches && sockets.size === 0 && openFilesBelow(place).length === 0;
	const leave = (): Promise<void> => disconnect({client, end});
	return {place, port, end, isClean, leave};
}

async function ask(end: ClientConnection, method: string, params: object): Promise<unknown> {
	return end.request({kind: 'request', id: 1, method, params} as Parameters<ClientConnection['request']>[0], 0);
}

test.each(METHODS)('%s that begins after its connection has closed leaves nothing open', async (method, toParams) => {
	const {place, port, end, isClean, leave} = await setUp();
	await leave();
	await ask(end, method, toParams(place, port)).catch(() => {});
	expect(isClean()).toBe(true);
});

test.each(METHODS)('%s whose connection closes meanwhile leaves nothing open', async (method, toParams) => {
	const {place, port, end, isClean} = await setUp();
	const answered = ask(end, method, toParams(place, port)).catch(() => {});
	end.rpc.destroy();
	await answered;
	await eventually(() => end.rpc.isClosed && isClean());
	expect(isClean()).toBe(true);
});

test('a watch whose policy is looked at while its connection closes does not begin', async () => {
	const {place, end, isClean} = await setUp();
	const watched = ask(end, 'fs/watch', {watchId: 'w', path: uri(place), sandbox: SLOW_POLICY});
	end.rpc.destroy();
	await expect(watched).rejects.toMatchObject({code: -32_600, message: 'the connection is closed'});
	expect(isClean()).toBe(true);
});

test('a client that leaves while it waits for a process to start is not attached to it', async () => {
	const backend = new GatedBackend();
	const server = execServer({backend: () => backend, detachedSessionMs: 0});
	const agent = await TestClient.overMemory(server).initialize(undefined, 'agent');
	const human = await TestClient.overMemory(server).initialize(undefined, 'human');
	await human.call('environment/status');
	const started = agent.sh('job', 'exec sleep 1000', {share: {observe: 'any', drive: 'any'}});
	await eventually(() => backend.waiting === 1);
	const attached = human.call('process/attach', {process: 'job', role: 'drive', takeover: true}).catch(() => {});
	// The reply to a request behind it shows that it was read.
	await human.call('environment/status');
	human.rpc.destroy();
	await attached;
	await eventually(() => server.health()['sessions'] === 1);
	backend.open();
	await started;
	const {processes} = await agent.call<{processes: {clients?: unknown[]; driver?: unknown}[]}>('process/list', {});
	expect(JSON.stringify(processes)).not.toContain('human');
	expect(await agent.call('process/signal', {processId: 'job', signal: {name: 'CONT'}})).toEqual({});
});
