// covers: src/transports/node/relay/unreached.ts, src/transports/node/relay/connect-attempts.ts, src/transports/node/relay/connect-through-hub.ts, src/transports/node/relay/executor-link.ts
// Hubs behind a balancer that still leads connections to a node that is dead.
import {expect, onTestFinished, test, vi} from 'vitest';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import {listRegistry} from '../../src/transports/node/relay/registry-listing.js';
import {type Backend, balancer, inTurn} from '../helpers/balancer.js';
import {stopClock} from '../helpers/clock.js';
import {environmentVia, type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {poolEnvironment, poolMember} from '../helpers/pool-members.js';

const DEATHS = ['closed', 'reset', 'bad gateway'] as const satisfies readonly Backend[];
const COMMANDS = 20;

const urlOf = ({url}: RunningHub): Backend => url as `http://${string}`;

async function runAt(hub: RunningHub, environmentId: string): Promise<string> {
	const environment = environmentVia(hub, environmentId);
	const {stdout} = await environment.run(['printf', 'here']);
	await environment.close();
	return stdout.text;
}

test.each(DEATHS)('20 of 20 new commands succeed while every second connection meets a dead node: %s', async death => {
	const hub = await runningHub();
	const {url} = await balancer(inTurn(urlOf(hub), death));
	await runningExecutor({...hub, url}, 'devbox');
	for (let times = 0; times < COMMANDS; times++) expect(await runAt({...hub, url}, 'devbox')).toBe('here');
});

test('20 of 20 new commands get the only slot of a pool while two of three connections meet a dead node', async () => {
	const hub = await runningHub();
	const {url} = await balancer(inTurn('closed', urlOf(hub), 'reset'));
	await poolMember({...hub, url}, 'gpu-1', {slots: 1});
	for (let times = 0; times < COMMANDS; times++) {
		const environment = poolEnvironment({...hub, url}, 'pool:gpu');
		expect((await environment.run(['printf', 'here'])).stdout.text).toBe('here');
		await environment.close();
	}
});

test('questions to a hub are repeated while no node is reached', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const {url} = await balancer(inTurn('closed', 'reset', 'bad gateway', urlOf(hub)));
	expect(await listRegistry(url, {token: () => hub.clientToken})).toMatchObject([{id: 'devbox', isOnline: true}]);
});

test('a client comes again with another authorization when an executor, like a stock one, cannot ask its hub', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const authorizations: string[] = [];
	const validate = vi.spyOn(RegistryClient.prototype, 'validate');
	onTestFinished(() => validate.mockRestore());
	validate.mockImplementationOnce(async (_registrationId, {authorization}) => {
		authorizations.push(authorization);
		throw new Error('socket hang up');
	});
	expect(await runAt(hub, 'devbox')).toBe('here');
	const [first, second] = validate.mock.calls.map(([, caller]) => caller.authorization);
	expect([authorizations, first === second]).toEqual([[first], false]);
});

test('an executor that reaches no hub says so, and so does its client when its time is over', async () => {
	stopClock();
	const hub = await runningHub();
	let isDead = false;
	const {url} = await balancer(() => (isDead ? 'closed' : urlOf(hub)));
	await runningExecutor({...hub, url}, 'devbox');
	isDead = true;
	const failure = runAt(hub, 'devbox').catch((error: unknown) => String((error as Error).cause ?? error));
	const text = await advanceUntil(failure);
	expect(text).toContain('the machine cannot ask the hub about this client');
});

test('a client that reaches no hub within its time says what became of its connections', async () => {
	stopClock();
	const hub = await runningHub();
	const dead = await balancer(() => 'closed');
	const failure = runAt({...hub, url: dead.url}, 'devbox').catch((error: unknown) =>
		String((error as Error).cause ?? error),
	);
	expect(await advanceUntil(failure)).toMatch(/environment registry request failed: .*socket hang up/);
	expect(dead.missed).toBeGreaterThan(20);
});

/** Real time for sockets and threads at each step of the stopped clock: a busy machine must not miss a limit of ten seconds. */
const STEP_NS = 20_000_000n;

/** Advances the stopped clock until the promise has settled. */
async function advanceUntil<T>(promise: Promise<T>): Promise<T> {
	const state = {isOver: false};
	const over = (): void => void Object.assign(state, {isOver: true});
	promise.then(over, over);
	while (!state.isOver) {
		await vi.advanceTimersByTimeAsync(50);
		const next = process.hrtime.bigint() + STEP_NS;
		do await new Promise(resolve => setImmediate(resolve));
		while (!state.isOver && process.hrtime.bigint() < next);
	}
	return promise;
}
