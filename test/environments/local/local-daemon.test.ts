import {chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../../src/environments/environment.js';
import {daemonPlaceOf} from '../../../src/environments/local/daemon-place.js';
import {LocalBackend} from '../../../src/environments/local/local-backend.js';
import {LocalDaemon} from '../../../src/environments/local/local-daemon.js';
import {ownCommand} from '../../helpers/own-command.js';
import {eventually, isAlive} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {sh} from '../../helpers/start-params.js';

let own: Awaited<ReturnType<typeof ownCommand>>;
beforeAll(async () => {
	own = await ownCommand();
});
afterAll(() => own.remove());

interface Place {
	readonly variables: Record<string, string | undefined>;
	/** The command of a daemon; notes the process id and the arguments of each. */
	readonly command: readonly string[];
	/** Process ids of all that were started. */
	readonly pids: () => number[];
}

/** A place for a daemon of its own; whatever was started there ends with the test. */
function place(options = ''): Place {
	const directory = scratchDirectory();
	const notes = join(directory, 'started');
	writeFileSync(notes, '');
	const script = `echo $$ >> ${notes}; exec "$0" "$1" serve --listen "$4" ${options}`;
	const pids = () => readFileSync(notes, 'utf8').trim().split('\n').filter(Boolean).map(Number);
	onTestFinished(async () => {
		for (const pid of pids()) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
		for (const pid of pids()) await eventually(() => !isAlive(pid));
	});
	const variables = {...process.env, XDG_STATE_HOME: join(directory, 'state'), HOME: directory};
	return {variables, command: ['/bin/sh', '-c', script, ...own.command], pids};
}

function daemonOf({variables, command}: Place): LocalDaemon {
	const daemon = new LocalDaemon({variables, command});
	onTestFinished(() => daemon.close());
	return daemon;
}

function machineOf({variables, command}: Place): LocalBackend {
	const backend = new LocalBackend(variables, {daemonCommand: command});
	onTestFinished(() => backend.close());
	return backend;
}

test('a daemon is found if it runs, and started only if that is asked for', async () => {
	const there = place();
	const daemon = daemonOf(there);
	expect(await daemon.find()).toBeUndefined();
	expect(there.pids()).toEqual([]);
	const opened = await daemon.open();
	expect((await opened.server()).capabilities['processList']).toBe(true);
	const other = daemonOf(there);
	expect(await other.find()).toBeDefined();
	await other.open();
	expect(there.pids()).toHaveLength(1);
	const {directory, log} = daemon.place;
	expect([statSync(directory).mode & 0o777, statSync(log).mode & 0o777]).toEqual([0o700, 0o600]);
});

test('of many that start a daemon at once, all find the one that runs', async () => {
	const there = place();
	const ids = await Promise.all(
		Array.from({length: 4}, async () => (await (await daemonOf(there).open()).server()).info?.instanceId),
	);
	expect(new Set(ids).size).toBe(1);
	await eventually(() => there.pids().filter(isAlive).length === 1);
});

test('a daemon that was killed is replaced', async () => {
	const there = place();
	const daemon = daemonOf(there);
	const before = (await (await daemon.open()).server()).info?.instanceId;
	const [pid] = there.pids();
	process.kill(pid!, 'SIGKILL');
	// Its last thread may hold the socket for a moment longer than the first one lives.
	await eventually(() => !existsSync(`/proc/${pid}`));
	const next = daemonOf(there);
	expect(await next.find()).toBeUndefined();
	expect((await (await next.open()).server()).info?.instanceId).not.toBe(before);
});

test('a daemon exits when it was idle, and not while it has a client or a process', async () => {
	const there = place('--exit-idle 200ms');
	const daemon = daemonOf(there);
	const backend = await daemon.open();
	const [pid] = there.pids();
	const {process: kept} = await backend.processes.start({
		...sh('kept', 'read -r line'),
		onDisconnect: 'keep',
		pipeStdin: true,
	});
	await daemon.close();
	const again = daemonOf(there);
	const found = await again.find();
	expect(found).toBeDefined();
	expect((await found!.processes.list({all: true})).map(({processId}) => processId)).toEqual([kept.processId]);
	await (await found!.processes.attach('kept')).terminate();
	expect(isAlive(pid!)).toBe(true);
	await again.close();
	await eventually(() => !isAlive(pid!));
	expect(await daemonOf(there).find()).toBeUndefined();
	expect(there.pids()).toEqual([pid]);
});

test('no command is lost to a daemon that exits at the same moment', async () => {
	const there = place('--exit-idle 1ms');
	const {log} = daemonPlaceOf(there.variables);
	for (let round = 0; round < 5; round++) {
		const machine = machineOf(there);
		const {process} = await machine.processes.start({...sh(`p${round}`, 'exit 5'), onDisconnect: 'keep'});
		expect(await process.exited).toMatchObject({exitCode: 5});
		await machine.close();
		await eventually(() => readFileSync(log, 'utf8').split('"shutting down"').length === round + 2);
	}
	expect(there.pids().length).toBeGreaterThanOrEqual(5);
});

test('a daemon that does not start says why', async () => {
	const {variables} = place();
	const daemon = new LocalDaemon({variables, command: ['/bin/sh', '-c', 'echo no such luck >&2; exit 3']});
	await expect(daemon.open()).rejects.toMatchObject({
		code: 'STATE_UNUSABLE',
		message: expect.stringContaining('no such luck') as string,
	});
});

test('a directory that others can look into holds no daemon', async () => {
	const there = place();
	const {directory} = daemonPlaceOf(there.variables);
	mkdirSync(directory, {recursive: true});
	chmodSync(directory, 0o755);
	await expect(daemonOf(there).open()).rejects.toMatchObject({code: 'STATE_UNUSABLE', context: {path: directory}});
	expect(there.pids()).toEqual([]);
});

test('a path that is too long for a socket is replaced by a short one for the same directory', () => {
	const short = daemonPlaceOf({XDG_STATE_HOME: '/s'});
	expect(short.socket).toBe('/s/longarm/local/serve.sock');
	const long = {XDG_STATE_HOME: `/${'s'.repeat(100)}`};
	const inRuntime = daemonPlaceOf({...long, XDG_RUNTIME_DIR: '/run/user/5'});
	expect(inRuntime.socket).toMatch(/^\/run\/user\/5\/longarm-local-[0-9a-f]{12}\.sock$/);
	const elsewhere = daemonPlaceOf({XDG_STATE_HOME: `/${'t'.repeat(100)}`, XDG_RUNTIME_DIR: '/run/user/5'});
	expect(elsewhere.socket).not.toBe(inRuntime.socket);
	const inTemporary = daemonPlaceOf({...long, XDG_RUNTIME_DIR: `/${'r'.repeat(100)}`});
	expect(inTemporary.socket).toMatch(/\/longarm-\d+\/local-[0-9a-f]{12}\.sock$/);
});

test('a process that outlives this program is started by the daemon, with the variables of this program', async () => {
	const there = place();
	const variables = {...there.variables, ONLY_HERE: 'here'};
	const machine = machineOf({...there, variables: {...there.variables}});
	const policy = {inherit: 'all' as const, ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: []};
	const kept = {...sh('kept', 'echo $ONLY_HERE'), onDisconnect: 'keep' as const, envPolicy: policy};
	await machine.processes.start({...sh('first', 'true'), onDisconnect: 'keep'});
	const {process} = await machineOf({...there, variables}).processes.start(kept);
	let text = '';
	for await (const piece of process.text()) text += piece;
	expect(text).toBe('here\n');
	expect(there.pids()).toHaveLength(1);
});

test('all processes are those of this program and of the daemon, which a list never starts', async () => {
	const there = place();
	const machine = machineOf(there);
	await machine.processes.start(sh('own', 'exec sleep 1000'));
	const idsOf = async (options: object) => (await machine.processes.list(options)).map(({processId}) => processId);
	expect(await idsOf({all: true})).toEqual(['own']);
	expect(there.pids()).toEqual([]);
	await expect(machine.processes.attach('kept')).rejects.toThrow('unknown process id kept');
	await machine.processes.start({...sh('kept', 'exec sleep 1000'), onDisconnect: 'keep'});
	expect(await idsOf({all: true})).toEqual(['own', 'kept']);
	expect(await idsOf({})).toEqual(['own']);
	expect((await machine.processes.attach('kept')).processId).toBe('kept');
});

test('processes of this program are found by name and label, and a name is free again after the end', async () => {
	const machine = Environment.local();
	onTestFinished(() => machine.close());
	const build = await machine.start(['/bin/sleep', '1000'], {name: 'build', labels: {team: 'web'}, processId: 'b'});
	await machine.start(['/bin/sleep', '1000'], {processId: 'other'});
	expect([build.name, build.role, build.driver]).toEqual(['build', 'drive', undefined]);
	expect(await machine.processes.attach('build')).toBe(build);
	const [entry, ...more] = await machine.processes.list({labels: {team: 'web'}});
	expect(entry).toMatchObject({
		processId: 'b',
		name: 'build',
		labels: {team: 'web'},
		state: 'running',
		pid: expect.any(Number) as number,
	});
	expect(more).toEqual([]);
	expect(await machine.processes.list()).toHaveLength(2);
	await expect(machine.start(['true'], {name: 'build'})).rejects.toThrow('the name build is that of process b');
	await expect(machine.start(['true'], {name: 'no spaces'})).rejects.toThrow('cannot be used');
	await build.terminate();
	await build.closed;
	const next = await machine.start(['/bin/sleep', '1000'], {name: 'build'});
	expect(await machine.processes.attach('build')).toBe(next);
});

test('a process of this program itself refuses what needs other clients, and names the alternative', async () => {
	const machine = Environment.local();
	onTestFinished(() => machine.close());
	const process = await machine.start(['/bin/sh', '-c', 'echo ready; exec sleep 1000']);
	await process.takeOver();
	for (const call of [
		() => process.giveBack(),
		() => process.detach(),
		() => process.share(),
		() => machine.start(['true'], {spill: true}),
		() => machine.start(['true'], {record: true}),
	]) {
		await expect(call()).rejects.toThrow('start them with detach: true');
	}
	expect(await process.waitFor({pattern: 'ready'})).toMatchObject({by: 'pattern', end: {seq: 1, offset: 5}});
});
