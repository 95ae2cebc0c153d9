// covers: src/processes/tree/subreaper.ts, src/processes/tree/kill-tree.ts, src/processes/backends/linux/reaper.ts
import {expect, test} from 'vitest';
import {withTimeEnough} from '../helpers/clock.js';
import {disconnect} from '../helpers/disconnect.js';
import {needs} from '../helpers/needs.js';
import {joined, listed, OPEN_STDIN, TERMINAL, terminate, toldPids} from '../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {
	DAEMON,
	FAMILY,
	FAMILY_SIZE,
	listRunningWith,
	serveAsSubreaper,
	spawnUnrelated,
	UNMARK,
	untilReaped,
} from '../helpers/subreaper.js';
import type {TestClient} from '../helpers/test-client.js';

const IO: [string, Record<string, unknown>][] = [
	['pipes', {}],
	['a terminal', TERMINAL],
];

async function daemon(client: TestClient, processId: string): Promise<number> {
	await client.sh(processId, DAEMON);
	await client.event(processId, 'process/closed');
	return (await toldPids(client, processId, 1))[0]!;
}

async function untilForgotten(client: TestClient, processId: string): Promise<void> {
	while (await listed(client, processId));
}

test.each(IO)('when terminate has answered nothing is left of a process on %s, wherever it went', async (_, io) => {
	const {client} = await serveAsSubreaper();
	const [apart, mine] = [spawnUnrelated(), await daemon(client, 'mine')];
	await client.sh('p', FAMILY, io);
	const pids = await toldPids(client, 'p', FAMILY_SIZE);
	expect(pids.filter(isAlive)).toEqual(pids);
	expect(await client.call('process/terminate', {processId: 'p'})).toEqual({running: true});
	expect(pids.filter(isAlive)).toEqual([]);
	expect((await client.done('p')).exitCode).toBe(137);
	expect([isAlive(apart), isAlive(mine)]).toEqual([true, true]);
});

test('a tree that grows while it is being ended is ended', async () => {
	const {client} = await serveAsSubreaper();
	for (let round = 0; round < 8; round++) {
		// No other process of this machine sleeps as long.
		const forever = `1000000.${process.pid}${round}`;
		await client.sh(`p${round}`, `while :; do setsid -f sleep ${forever}; (setsid sleep ${forever} &); done`);
		await eventually(() => listRunningWith(forever).length >= 3);
		expect(await client.call('process/terminate', {processId: `p${round}`})).toEqual({running: true});
		expect(listRunningWith(forever)).toEqual([]);
	}
});

/** Goes when it is asked to, and leaves one in its group that does not and two that are out of reach of its signals. */
const UNEVEN = `
	sh -c 'trap "" TERM; echo $$; while :; do sleep 1000; done' &
	setsid sh -c 'echo $$; exec sleep 1000' &
	setsid -f sh -c 'echo $$; exec sleep 1000'
	wait`;

test('who does not follow a graceful terminate is killed later, although the leader went at once', async () => {
	const {client} = await serveAsSubreaper();
	await client.sh('p', UNEVEN);
	const pids = await toldPids(client, 'p', 3);
	const mode = {graceful: {timeoutMs: 50}};
	expect(await client.call('process/terminate', {processId: 'p', mode})).toEqual({running: true});
	await untilDead(...pids);
	expect((await client.done('p')).exitCode).toBe(143);
});

test('who does not follow its time limit is killed later, although the leader went at once', async () => {
	const {client} = await serveAsSubreaper();
	const {processId, pids} = await withTimeEnough(async timeoutMs => {
		const id = `p${timeoutMs}`;
		await client.sh(id, UNEVEN, {timeoutMs});
		const over = client.event(id, 'process/closed').then(() => undefined);
		const told = await Promise.race([toldPids(client, id, 3), over]);
		return told && {processId: id, pids: told};
	});
	await client.event(processId, 'process/exited');
	const mode = {graceful: {timeoutMs: 50}};
	expect(await client.call('process/terminate', {processId, mode})).toEqual({running: false});
	await untilDead(...pids);
	expect((await client.done(processId)).exitCode).toBe(143);
});

test('what a process leaves behind is listed with it, and gone from the list when it ends', async () => {
	const {command, client} = await serveAsSubreaper();
	const pid = await daemon(client, 'p');
	await eventually(() => listRunningWith('sleep').includes(pid));
	expect(await listed(client, 'p')).toMatchObject({
		state: 'closed',
		descendants: [{pid, parentPid: command.pid, command: 'sleep'}],
	});
	process.kill(pid, 'SIGKILL');
	await untilReaped(pid);
	expect((await listed(client, 'p'))?.descendants).toEqual([]);
});

test('orphans that end are reaped while the server runs', async () => {
	const {client} = await serveAsSubreaper();
	const orphan = `until read -r _ _ _ parent _ < /proc/$$/stat; [ "$parent" = "$server" ]; do :; done; echo $$`;
	await client.sh(
		'p',
		`export server=$PPID; for i in 1 2 3 4 5; do setsid -f sh -c '${orphan}'; done; read line`,
		OPEN_STDIN,
	);
	await untilReaped(...(await toldPids(client, 'p', 5)));
	await client.write('p', 'go\n', 'w');
	expect((await client.done('p')).exitCode).toBe(0);
});

test('an expired session leaves nothing, not even what a long forgotten process left behind; others keep theirs', async () => {
	const {client, url} = await serveAsSubreaper('--detached-session', '1ms', '--retain-closed', '1ms');
	const apart = spawnUnrelated();
	const other = await joined(url);
	const theirs = [await daemon(other, 'd'), await daemon(other, 'e')];
	const left = await daemon(client, 'd');
	await untilForgotten(client, 'd');
	await untilForgotten(other, 'd');
	await client.sh('p', FAMILY, TERMINAL);
	const pids = [left, ...(await toldPids(client, 'p', FAMILY_SIZE))];
	expect([apart, ...theirs, ...pids].every(isAlive)).toBe(true);
	await disconnect({url, client});
	await untilDead(...pids);
	expect([apart, ...theirs].every(isAlive)).toBe(true);
});

test.each<NodeJS.Signals>(['SIGTERM', 'SIGINT'])('%s leaves nothing, and strangers alone', async signal => {
	const {command, client} = await serveAsSubreaper('--retain-closed', '1ms', '--shutdown-grace', '10ms');
	const apart = spawnUnrelated();
	const left = await daemon(client, 'd');
	await untilForgotten(client, 'd');
	await client.sh('p', FAMILY);
	await client.sh('t', FAMILY, TERMINAL);
	const pids = [left, ...(await toldPids(client, 'p', FAMILY_SIZE)), ...(await toldPids(client, 't', FAMILY_SIZE))];
	expect(pids.filter(isAlive)).toEqual(pids);
	command.child.kill(signal);
	expect(await command.ended).toEqual({code: 0, signal: null});
	await untilDead(...pids);
	expect(isAlive(apart)).toBe(true);
});

test('an orphan that took its mark off belongs to the process whose session it is in', needs('prlimit'), async () => {
	const {client, url} = await serveAsSubreaper('--detached-session', '1ms');
	const other = await joined(url);
	await client.sh('p', `${UNMARK}; sleep 1000 > /dev/null 2>&1 & echo $!`);
	const [pid] = await toldPids(client, 'p', 1);
	await client.event('p', 'process/closed');
	expect((await listed(client, 'p'))?.descendants).toMatchObject([{pid, command: 'sleep'}]);
	await disconnect({url, client});
	await untilDead(pid!);
	expect(await other.call('process/list')).toEqual({processes: []});
});

test(
	'an orphan without mark and session is a survivor of each process before it, and ends with the last session',
	needs('prlimit', 'setsid'),
	async () => {
		const {client, url} = await serveAsSubreaper('--detached-session', '1ms');
		const other = await joined(url);
		await client.sh('p', `${UNMARK}; ${DAEMON}; exec sleep 1000`);
		const [pid] = await toldPids(client, 'p', 1);
		await other.sh('later', 'exec sleep 1000');
		expect(await terminate(client, 'p')).toEqual({running: true, survivors: [{pid, command: 'sleep'}]});
		await disconnect({url, client});
		expect(isAlive(pid!)).toBe(true);
		other.rpc.destroy();
		await untilDead(pid!);
	},
);
