// covers: src/processes/backends/linux/watchdog.ts, watchdog-script.ts, descendant-tags.ts, descendant-group.ts, orphan-sweep.ts
import {describe, expect, test} from 'vitest';
import {isHalted} from '../../src/processes/tree/process-tree.js';
import {needs, unless} from '../helpers/needs.js';
import {TERMINAL, toldPids} from '../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {
	createLifeline,
	DAEMON,
	FAMILY,
	FAMILY_SIZE,
	findWatchdog,
	noUnprivilegedServer,
	runUnprivileged,
	serveAsSubreaper,
	serveUnprivileged,
	spawnUnrelated,
	UNMARK,
} from '../helpers/subreaper.js';

/** Starts itself again in a new session and exits, so that no two looks find the same process. */
const HOPPER = 'exec setsid -f sh -c "$HOPPER"';
const SERVERS = [
	['as this user', serveAsSubreaper, undefined],
	['without privileges', serveUnprivileged, noUnprivilegedServer()],
] as const;

const STUBBORN_FAMILY = `trap '' HUP INT TERM; ${FAMILY}`;

test.each([
	['pipes', {}],
	['a terminal', TERMINAL],
])('a server that is killed leaves nothing of a process on %s, wherever it went', async (_, io) => {
	const {command, client} = await serveAsSubreaper();
	const neighbour = await serveAsSubreaper();
	await neighbour.client.sh('p', `echo $$; ${DAEMON}; exec sleep 1000`);
	const theirs = [spawnUnrelated(), ...(await toldPids(neighbour.client, 'p', 2))];
	await client.sh('p', STUBBORN_FAMILY, io);
	const pids = await toldPids(client, 'p', FAMILY_SIZE);
	const watchdog = await findWatchdog(command.pid);
	expect([...pids, ...theirs, watchdog].every(isAlive)).toBe(true);
	command.child.kill('SIGKILL');
	expect(await command.ended).toEqual({code: null, signal: 'SIGKILL'});
	await untilDead(...pids, watchdog);
	expect(theirs.filter(isAlive)).toEqual(theirs);
});

test('a server that is killed leaves nothing a finished process left behind', async () => {
	const {command, client} = await serveAsSubreaper();
	await client.sh('d', DAEMON);
	await client.event('d', 'process/closed');
	const [pid] = await toldPids(client, 'd', 1);
	expect(isAlive(pid!)).toBe(true);
	command.child.kill('SIGKILL');
	await untilDead(pid!);
});

test('the watchdog of a server without processes ends with it', async () => {
	for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
		const {command} = await serveAsSubreaper();
		const watchdog = await findWatchdog(command.pid);
		expect(isAlive(watchdog)).toBe(true);
		command.child.kill(signal);
		await untilDead(watchdog);
	}
});

test('a watchdog does not follow those who ask everybody to end', async () => {
	const {command, client} = await serveAsSubreaper();
	await client.sh('p', FAMILY);
	const pids = await toldPids(client, 'p', FAMILY_SIZE);
	const watchdog = await findWatchdog(command.pid);
	for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.kill(-watchdog, signal);
	expect([...pids, watchdog].every(isAlive)).toBe(true);
	command.child.kill('SIGKILL');
	await untilDead(...pids, watchdog);
});

test('a watchdog that was stopped is continued while there are processes', async () => {
	const {command, client} = await serveAsSubreaper();
	const watchdog = await findWatchdog(command.pid);
	process.kill(watchdog, 'SIGSTOP');
	await eventually(() => isHalted(watchdog));
	await client.sh('p', 'echo $$; exec sleep 1000');
	const [pid] = await toldPids(client, 'p', 1);
	await eventually(() => !isHalted(watchdog));
	command.child.kill('SIGKILL');
	await untilDead(pid!, watchdog);
	expect(isAlive(pid!)).toBe(false);
});

test('a server that is killed leaves nothing when its watchdog can start no process', {
	...unless(noUnprivilegedServer()),
	...needs('prlimit'),
}, async () => {
	const {command, client} = await serveUnprivileged();
	await client.sh('p', STUBBORN_FAMILY);
	const pids = await toldPids(client, 'p', FAMILY_SIZE);
	const watchdog = await findWatchdog(command.pid);
	expect(runUnprivileged('prlimit', '--pid', String(watchdog), '--nproc=1:1')).toBe(0);
	command.child.kill('SIGKILL');
	await untilDead(...pids, watchdog);
});

describe.each(SERVERS)('a server %s that is killed', (_, serve, why) => {
	test('leaves no process that changes its id faster than it is found', {
		...unless(why),
		...needs('setsid'),
	}, async () => {
		const {command, client} = await serve();
		const {path, released} = createLifeline();
		await client.sh('p', `exec 9> ${path}; echo ready; export HOPPER='${HOPPER}'; ${HOPPER}`);
		await client.shows('p', 'ready');
		await client.event('p', 'process/exited');
		command.child.kill('SIGKILL');
		expect(await released).toEqual([0, null]);
	});

	test('leaves no process that took its marks off', {...unless(why), ...needs('prlimit', 'setsid')}, async () => {
		const {command, client} = await serve();
		const {path, released} = createLifeline();
		const script = `exec 9> ${path}; ${UNMARK}; setsid -f sleep 1000; sleep 1000 & setsid -f sh -c 'sleep 1000; :'; echo ready`;
		await client.sh('p', `${script}; exec sleep 1000`);
		await client.sh('q', script);
		await client.shows('p', 'ready');
		await client.shows('q', 'ready');
		command.child.kill('SIGKILL');
		expect(await released).toEqual([0, null]);
	});

	test('leaves nothing after its watchdog was killed and replaced', unless(why), async () => {
		const {command, client} = await serve('--log-level', 'warn');
		const first = await findWatchdog(command.pid);
		process.kill(first, 'SIGKILL');
		await command.logs('the watchdog of this server was ended and is replaced');
		await untilDead(first);
		const second = await findWatchdog(command.pid);
		expect(second).not.toBe(first);
		await client.sh('p', STUBBORN_FAMILY);
		const pids = await toldPids(client, 'p', FAMILY_SIZE);
		command.child.kill('SIGKILL');
		await untilDead(...pids, second);
	});
});
