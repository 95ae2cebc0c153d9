// covers: src/client/session/recovery.ts, src/server/options.ts, src/transports/node/relay/placed-targets.ts
import {expect, onTestFinished, test, vi} from 'vitest';
import {RECOVERY_BUDGET_MS} from '../../../src/client/session/recovery.js';
import {SessionClient} from '../../../src/client/session/session-client.js';
import {TICKET_MS} from '../../../src/hub/registry/tickets.js';
import {GRANT_MS} from '../../../src/hub/store/memory-grants.js';
import {connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import {PEER_TIMEOUT_MS} from '../../../src/transports/node/peer-times.js';
import {PlacedTargets} from '../../../src/transports/node/relay/placed-targets.js';
import type {Transport} from '../../../src/transports/transport.js';
import {stopClock} from '../../helpers/clock.js';
import {disconnect} from '../../helpers/disconnect.js';
import {outcomeOf} from '../../helpers/process-api.js';
import {eventually} from '../../helpers/processes.js';
import {join, serving} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';
import {TestClient} from '../../helpers/test-client.js';

/** Time that upstream's newest client tries to resume a session. */
const UPSTREAM_RECOVERY_MS = 45_000;
/** Time that upstream's newest server keeps sessions without a connection and closed processes. */
const UPSTREAM_RETENTION_MS = 80_000;

/** Moves the stopped clock in the steps of a client that tries again. */
async function advance(ms: number): Promise<void> {
	for (let step = 0; step < ms; step += 100) await vi.advanceTimersByTimeAsync(100);
}

test('a client resumes its session after 44 s without a way to the server', async () => {
	stopClock();
	const host = await serving();
	const transports: Transport[] = [];
	let isReachable = true;
	const client = await SessionClient.open(async () => {
		if (!isReachable) throw new Error('the network is down');
		transports.push(await connectWebSocket(host.url));
		return transports.at(-1)!;
	});
	onTestFinished(() => client.close());
	const {process} = await client.start(sh('p', 'read x; echo $x', {pipeStdin: true}));
	isReachable = false;
	transports[0]!.destroy();
	await advance(44_000);
	expect([client.state, transports.length]).toEqual(['recovering', 1]);
	isReachable = true;
	await advance(200);
	await client.recovered();
	await process.write('still here\n');
	const {value} = (await process.output()[Symbol.asyncIterator]().next()) as {value: {bytes: Uint8Array}};
	expect(Buffer.from(value.bytes).toString()).toBe('still here\n');
});

test('a server keeps sessions and closed processes for 80 s, and no longer', async () => {
	stopClock();
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', 'echo one; exit 3');
	await first.client.done('p');
	await disconnect(first);
	await vi.advanceTimersByTimeAsync(UPSTREAM_RETENTION_MS - 1000);
	const second = await join(host, first.client.sessionId);
	expect(await second.client.call('process/read', {processId: 'p'})).toMatchObject({closed: true, exitCode: 3});
	await disconnect(second);
	await vi.advanceTimersByTimeAsync(UPSTREAM_RETENTION_MS);
	const third = await TestClient.overWebSocket(host.url);
	expect(await outcomeOf(third.initialize(first.client.sessionId))).toMatchObject({code: -32600});
});

test('attempts on a path that leads nowhere go on until the end of a recovery', async () => {
	stopClock();
	// The signals of the platform do not follow the stopped clock.
	const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(ms => {
		const controller = new AbortController();
		setTimeout(() => controller.abort(new Error('too late')), ms);
		return controller.signal;
	});
	onTestFinished(() => timeout.mockRestore());
	const host = await serving();
	const transports: Transport[] = [];
	const attempts: number[] = [];
	const client = await SessionClient.open(async () => {
		if (transports.length > 0) {
			attempts.push(performance.now());
			return new Promise<never>(() => {});
		}
		transports.push(await connectWebSocket(host.url));
		return transports[0]!;
	});
	transports[0]!.destroy();
	await eventually(() => attempts.length === 1);
	await advance(RECOVERY_BUDGET_MS + 1000);
	expect((await client.ended).message).toContain('recovery timed out after 45s');
	const seconds = attempts.map(at => Math.floor((at - attempts[0]!) / 1000));
	expect(seconds.slice(0, 5)).toEqual([0, 3, 9, 21, 33]);
});

test('a client of a pool asks for its executor as long as it tries to resume', () => {
	const now = vi.spyOn(performance, 'now').mockReturnValue(0);
	onTestFinished(() => now.mockRestore());
	const targets = new PlacedTargets();
	const target = {kind: 'registry', url: 'registry+http://127.0.0.1:1/pool:gpu'} as const;
	targets.note(target, 'gpu-1');
	targets.noteFailure(target);
	now.mockReturnValue(RECOVERY_BUDGET_MS);
	expect([targets.noteFailure(target), targets.find(target)]).toEqual([false, 'gpu-1']);
	now.mockReturnValue(2 * RECOVERY_BUDGET_MS);
	expect([targets.noteFailure(target), targets.find(target)]).toEqual([true, undefined]);
});

test('times of other parts fit the time of a recovery', () => {
	expect(RECOVERY_BUDGET_MS).toBe(UPSTREAM_RECOVERY_MS);
	// A server that takes the old connection for alive gives it up while the client still tries.
	expect(PEER_TIMEOUT_MS).toBeLessThan(RECOVERY_BUDGET_MS);
	expect(Math.min(GRANT_MS, TICKET_MS.harness)).toBeGreaterThan(RECOVERY_BUDGET_MS);
});
