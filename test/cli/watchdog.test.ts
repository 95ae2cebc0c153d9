// covers: src/processes/backends/linux/watchdog.ts, src/processes/backends/linux/descendant-tags.ts
import {expect, test} from 'vitest';
import {TERMINAL, toldPids} from '../helpers/process-api.js';
import {isAlive, untilDead} from '../helpers/processes.js';
import {DAEMON, FAMILY, FAMILY_SIZE, findWatchdog, serveAsSubreaper, spawnUnrelated} from '../helpers/subreaper.js';

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
