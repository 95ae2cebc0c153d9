// covers: src/server/handlers/reserved-replies.ts, src/server/connection/reply-share.ts, src/rpc/rpc-connection.ts
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import type {ExecServer} from '../../../src/server/server.js';
import {eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {execServer} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';
import {StuckTransport} from '../../helpers/stuck-transport.js';
import {waitTicks} from '../../helpers/ticks.js';

const REQUESTS = 2000;
/** More than the replies of one connection that does not read may take. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;
/** Size of each of the replies, at least. */
const REPLY_BYTES = 50_000;

/** A client that never reads, after its handshake. */
function stuckClient(server: ExecServer): StuckTransport {
	const transport = new StuckTransport();
	server.accept(transport);
	transport.receive({id: 1, method: 'initialize', params: {clientName: 'stuck'}}, {method: 'initialized'});
	return transport;
}

function directoryWithEntries(): string {
	const directory = scratchDirectory();
	mkdirSync(join(directory, 'entries'));
	for (let index = 0; index < 1000; index++) writeFileSync(join(directory, 'entries', `${'n'.repeat(40)}${index}`), '');
	writeFileSync(join(directory, 'file'), 'x'.repeat(REPLY_BYTES));
	return `file://${directory}`;
}

const walked = {maxDepth: 5, maxDirectories: 100, maxEntries: 10_000, followDirectorySymlinks: false};

test.each([
	['fs/readDirectory', (uri: string) => ({path: `${uri}/entries`})],
	['fs/walk', (uri: string) => ({path: `${uri}/entries`, options: walked})],
	['fs/readFile', (uri: string) => ({path: `${uri}/file`})],
	['process/read', () => ({processId: 'p', afterSeq: 0, waitMs: 0})],
	['process/logs', () => ({processId: 'p', waitMs: 0})],
	['process/snapshot', () => ({processId: 'p'})],
])('thousands of %s of a client that does not read take a bounded memory', async (method, toParams) => {
	const uri = directoryWithEntries();
	const transport = stuckClient(execServer());
	const {frames} = transport;
	const start = sh('p', `head -c ${REPLY_BYTES} /dev/zero; sleep 1000`);
	transport.receive({id: 2, method: 'process/start', params: start});
	await eventually(() => transport.frames > frames + 1 && transport.backlog > REPLY_BYTES);
	const params = toParams(uri);
	transport.receive(...Array.from({length: REQUESTS}, (_, index) => ({id: index + 10, method, params})));
	await eventually(() => transport.isPaused);
	expect(await settledBacklog(transport)).toBeLessThan(MAX_BACKLOG_BYTES);
	transport.destroy();
});

test('thousands of process/read that wait for the same output take a bounded memory', async () => {
	const transport = stuckClient(execServer());
	const start = sh('p', `read line; head -c ${REPLY_BYTES} /dev/zero; sleep 1000`, {pipeStdin: true});
	transport.receive({id: 2, method: 'process/start', params: start});
	const params = {processId: 'p', afterSeq: 0, waitMs: 1_000_000};
	transport.receive(
		...Array.from({length: REQUESTS}, (_, index) => ({id: index + 10, method: 'process/read', params})),
		{id: 3, method: 'process/write', params: {processId: 'p', writeId: 'w', chunk: 'Cg=='}},
	);
	await eventually(() => transport.backlog > REPLY_BYTES);
	expect(await settledBacklog(transport)).toBeLessThan(MAX_BACKLOG_BYTES);
	transport.destroy();
});

/** Waits until nothing changes any more: the replies that have room are made. */
async function settledBacklog(transport: StuckTransport): Promise<number> {
	let before = -1;
	while (before !== transport.backlog) {
		before = transport.backlog;
		await waitTicks(500);
	}
	return before;
}

test('a request that takes long gives the event loop to others before the next one of the same read', async () => {
	const server = execServer();
	const [busy, other] = [stuckClient(server), stuckClient(server)];
	const order: string[] = [];
	setImmediate(() => {
		other.receive({id: 2, method: 'environment/status', params: {}});
		order.push(`other was answered, busy has ${busy.frames} replies`);
	});
	const text = 'x'.repeat(100_000);
	busy.receive(...Array.from({length: 300}, (_, id) => ({id, method: 'environment/status', params: {text}})));
	expect(busy.isPaused).toBe(true);
	await eventually(() => busy.frames > 300);
	expect(order).toHaveLength(1);
	expect(order[0]).not.toContain('busy has 301 replies');
});
