import {expect, test, vi} from 'vitest';
import {MAX_CAPTURE_MS, MAX_SNAPSHOT_BYTES} from '../../src/processes/shell-snapshot/capture-snapshot.js';
import {MAX_CACHED_SNAPSHOTS} from '../../src/processes/shell-snapshot/shell-snapshots.js';
import type {ExecServer} from '../../src/server/server.js';
import {stopClock} from '../helpers/clock.js';
import {disconnect} from '../helpers/disconnect.js';
import {LoginHome} from '../helpers/login-shells.js';
import {outcomeOf, terminate} from '../helpers/process-api.js';
import {countOpenDescriptors, eventually, untilDead} from '../helpers/processes.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

/** Lets the first shell that runs it wait until the file `go` is there; others pass. */
const WAIT_ONCE = `
	if [ ! -e "$HOME/pids" ]; then
		sleep 1000 & echo $$ $! > "$HOME/pids.new"; mv "$HOME/pids.new" "$HOME/pids"
		while [ ! -e "$HOME/go" ]; do sleep 0.01; done
	fi`;

/** Process ids of the shell that waits in its startup files, and of a program that these have left running. */
async function waitingShell(home: LoginHome): Promise<number[]> {
	await eventually(() => home.has('pids'));
	return home.read('pids').trim().split(' ').map(Number);
}

test('starts at the same time share one capture', async () => {
	const home = new LoginHome('bash', WAIT_ONCE);
	const session = await home.client();
	const ids = ['p1', 'p2', 'p3'];
	const starts = ids.map(id => home.start(session, id, `echo ${id}`));
	await waitingShell(home);
	home.write('go', '');
	await Promise.all(starts);
	for (const id of ids) expect(await session.done(id)).toMatchObject({stdout: `${id}\n`});
	expect(home.runs).toBe(1);
});

test('a session keeps the snapshots that were used last', async () => {
	const home = new LoginHome();
	const session = await home.client();
	const use = (scope: number, round: number) =>
		home.run(session, `p${scope}-${round}`, 'true', home.snapshot(`scope ${scope}`));
	for (let scope = 0; scope < MAX_CACHED_SNAPSHOTS; scope++) await use(scope, 1);
	await use(0, 2);
	expect(home.runs).toBe(MAX_CACHED_SNAPSHOTS);
	await use(MAX_CACHED_SNAPSHOTS, 1);
	await use(0, 3);
	expect(home.runs).toBe(MAX_CACHED_SNAPSHOTS + 1);
	await use(1, 2);
	expect(home.runs).toBe(MAX_CACHED_SNAPSHOTS + 2);
});

test('directory, environment policy and session are part of what a snapshot is for', async () => {
	const home = new LoginHome();
	const server = execServer({variables: {PATH: process.env['PATH'], HOME: home.path}});
	const [one, other] = [TestClient.overMemory(server), TestClient.overMemory(server)];
	for (const session of [one, other]) await session.initialize();
	await home.run(one, 'p1', 'true');
	await home.run(one, 'p2', 'true', {cwd: 'file:///'});
	const envPolicy = {inherit: 'all', ignoreDefaultExcludes: true, exclude: ['X'], set: {}, includeOnly: []};
	await home.run(one, 'p3', 'true', {envPolicy});
	expect(home.runs).toBe(3);
	await home.run(other, 'p1', 'true');
	expect(home.runs).toBe(4);
	await home.run(one, 'p4', 'true');
	expect(home.runs).toBe(4);
});

test('a capture that takes too long is ended, and the command runs its startup files', async () => {
	stopClock();
	const home = new LoginHome('bash', WAIT_ONCE);
	const session = await home.client();
	const started = home.start(session, 'p', 'echo done');
	const [shell] = await waitingShell(home);
	vi.advanceTimersByTime(MAX_CAPTURE_MS);
	await untilDead(shell!);
	await started;
	expect(await session.done('p')).toMatchObject({stdout: 'done\n'});
	expect(home.runs).toBe(2);
});

test('a state that is too large leaves the command to the startup files', async () => {
	const home = new LoginHome('bash', `eval "large() { : $(printf '%0${MAX_SNAPSHOT_BYTES}d' 0); }"`);
	const session = await home.client();
	for (const id of ['first', 'second']) {
		expect(await home.run(session, id, 'type -t large')).toMatchObject({stdout: 'function\n', stderr: ''});
	}
	expect(home.runs).toBe(3);
});

test('a start that is terminated during its capture is cancelled, and the capture ends', async () => {
	const home = new LoginHome('bash', WAIT_ONCE);
	const session = await home.client();
	const started = outcomeOf(home.start(session, 'p', 'echo done'));
	const [shell, left] = await waitingShell(home);
	expect(await terminate(session, 'p')).toEqual({running: true});
	expect(await started).toEqual({code: -32600, message: 'process p start was cancelled'});
	await untilDead(shell!, left!);
	// The next start takes a snapshot again.
	expect(await home.run(session, 'p', 'echo done')).toMatchObject({stdout: 'done\n'});
	await home.run(session, 'q', 'true');
	expect(home.runs).toBe(2);
});

test('a capture goes on while another start waits for it', async () => {
	const home = new LoginHome('bash', WAIT_ONCE);
	const session = await home.client();
	const cancelled = outcomeOf(home.start(session, 'p', 'true'));
	const kept = home.start(session, 'q', 'echo kept');
	await waitingShell(home);
	await terminate(session, 'p');
	await cancelled;
	home.write('go', '');
	await kept;
	expect(await session.done('q')).toMatchObject({stdout: 'kept\n'});
	expect(home.runs).toBe(1);
});

test('a capture is no process of the client: neither listed nor reported', async () => {
	const home = new LoginHome('bash', WAIT_ONCE);
	const session = await home.client();
	const started = home.start(session, 'p', 'true');
	await waitingShell(home);
	const {processes} = await session.call<{processes: unknown[]}>('process/list');
	expect(processes).toEqual([expect.objectContaining({processId: 'p', state: 'starting'})]);
	home.write('go', '');
	await started;
	await session.done('p');
	expect(new Set(session.events.map(({params}) => params.processId))).toEqual(new Set(['p']));
});

test.each([
	['its session', (server: ExecServer, client: TestClient) => disconnect({client, server})],
	['the server', (server: ExecServer) => server.shutdown(0)],
])('a capture ends with %s', async (_, end) => {
	const home = new LoginHome('bash', WAIT_ONCE);
	const server = execServer({variables: {PATH: process.env['PATH'], HOME: home.path}, detachedSessionMs: 0});
	const session = await TestClient.overMemory(server).initialize();
	home.start(session, 'p', 'true').catch(() => {});
	const [shell, left] = await waitingShell(home);
	await end(server, session);
	await untilDead(shell!, left!);
	await eventually(() => server.runningProcesses === 0);
	expect(home.runs).toBe(1);
});

test('programs that startup files leave running serve the session, and end with it', async () => {
	const home = new LoginHome('bash', 'sleep 1000 & echo $! > "$HOME/left"');
	const server = execServer({variables: {PATH: process.env['PATH'], HOME: home.path}, detachedSessionMs: 0});
	const session = await TestClient.overMemory(server).initialize();
	expect(await home.run(session, 'p', 'kill -0 $(cat "$HOME/left") && echo alive')).toMatchObject({stdout: 'alive\n'});
	const left = Number(home.read('left'));
	await disconnect({client: session, server});
	await untilDead(left);
});

test('a capture counts against the limits of the server and takes no slot, and a command without room for one runs without it', async () => {
	const home = new LoginHome('bash', WAIT_ONCE);
	const server = execServer({variables: {PATH: process.env['PATH'], HOME: home.path}, maxProcesses: 2});
	const session = await TestClient.overMemory(server).initialize();
	const started = home.start(session, 'p', 'read forever', {pipeStdin: true});
	await waitingShell(home);
	expect([server.runningProcesses, server.commands.used]).toEqual([2, 1]);
	home.write('go', '');
	await started;
	await eventually(() => server.runningProcesses === 1);
	const noRoom = home.snapshot('another scope');
	expect(await home.run(session, 'q', 'echo done', noRoom)).toMatchObject({stdout: 'done\n'});
	expect(home.runs).toBe(2);
	await terminate(session, 'p');
	await session.done('p');
	// The lack of room is not remembered.
	for (const id of ['r', 's']) await home.run(session, id, 'true', noRoom);
	expect(home.runs).toBe(3);
});

test('limits of children apply to a capture', async () => {
	const home = new LoginHome('bash', 'export OPEN_FILES=$(ulimit -n)');
	const session = await home.client({childLimits: {openFiles: 321}});
	for (const id of ['first', 'second']) {
		expect(await home.run(session, id, 'echo $OPEN_FILES $(ulimit -n)')).toMatchObject({stdout: '321 321\n'});
	}
	expect(home.runs).toBe(1);
});

test('captures leave no descriptor open in the server', async () => {
	const home = new LoginHome();
	const session = await home.client();
	await home.run(session, 'p', 'true');
	const before = countOpenDescriptors();
	for (let scope = 0; scope < 5; scope++) await home.run(session, `p${scope}`, 'true', home.snapshot(`s${scope}`));
	expect(countOpenDescriptors()).toBe(before);
});
