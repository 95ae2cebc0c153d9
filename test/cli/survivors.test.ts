// covers: src/processes/tree/kill-tree.ts, src/processes/tree/signals.ts (processes of another user)
import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {chmodSync, copyFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {readProcessInfo} from '../../src/processes/tree/process-tree.js';
import {withTimeEnough} from '../helpers/clock.js';
import {PROGRAM} from '../helpers/command.js';
import {findProgram, isInstalled, isRoot, unless} from '../helpers/needs.js';
import {endWithTest, joined} from '../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import type {TestClient} from '../helpers/test-client.js';

const AS_NOBODY = ['--reuid=65534', '--regid=65534', '--clear-groups'];
const AS_ROOT = ['--reuid=0', '--regid=0', '--clear-groups'];

const why = reasonAgainst();

/** Only root can make a program that changes its user, and a server that is not root. */
function reasonAgainst(): string | undefined {
	if (!isRoot) return 'only root can start a server as another user';
	if (!isInstalled('setpriv')) return 'setpriv is not installed';
	const look = [...AS_NOBODY, process.execPath, '-e', `fs.accessSync('${PROGRAM}')`];
	return spawnSync('setpriv', look).status === 0 ? undefined : 'the built command is out of reach for other users';
}

/** What `sudo sleep` is to somebody who is not root: a process that is started but cannot be ended. */
function untouchable(): string {
	const directory = scratchDirectory();
	chmodSync(directory, 0o755);
	const program = join(directory, 'sudo');
	copyFileSync(findProgram('setpriv')!, program);
	chmodSync(program, 0o4755);
	return `${program} ${AS_ROOT.join(' ')} sleep 1000`;
}

interface Unprivileged {
	readonly child: ChildProcess;
	readonly client: TestClient;
}

async function unprivilegedServer(): Promise<Unprivileged> {
	const child = spawn('setpriv', [...AS_NOBODY, process.execPath, PROGRAM, 'serve'], {
		env: {PATH: process.env['PATH']},
		cwd: '/',
		stdio: ['ignore', 'pipe', 'ignore'],
	});
	onTestFinished(() => void child.kill('SIGKILL'));
	const url = await new Promise<string>(resolve => {
		let text = '';
		child.stdout.setEncoding('utf8').on('data', (more: string) => {
			text += more;
			if (text.includes('\n')) resolve(text.trim());
		});
	});
	return {child, client: await joined(url)};
}

/** The root's process below a process, once it is one; nothing if it ended before. */
async function survivorBelow(client: TestClient, processId: string): Promise<number | undefined> {
	for (;;) {
		const {processes} = await client.call<{
			processes: {processId: string; state: string; pid: number; descendants: {pid: number}[]}[];
		}>('process/list');
		const {pid, state, descendants} = processes.find(each => each.processId === processId)!;
		if (state === 'closed') return undefined;
		const found = [pid, ...descendants.map(each => each.pid)].find(each => {
			const info = readProcessInfo(each);
			return info?.userId === 0 && info.command === 'sleep';
		});
		if (found === undefined) continue;
		endWithTest(found);
		return found;
	}
}

test.each([
	['the process itself', (command: string) => `exec ${command}`],
	['a child in its group', (command: string) => `${command} & wait`],
	['a child in a session of its own', (command: string) => `setsid ${command} & wait`],
	['an orphan', (command: string) => `setsid -f ${command}; exec sleep 1000`],
])('terminate names %s when it could not be ended', unless(why), async (_, script) => {
	const {child, client} = await unprivilegedServer();
	await client.sh('p', script(untouchable()));
	const pid = (await survivorBelow(client, 'p'))!;
	expect(await client.call('process/terminate', {processId: 'p'})).toEqual({
		running: true,
		survivors: [{pid, command: 'sleep'}],
	});
	expect([isAlive(pid), isAlive(child.pid!)]).toEqual([true, true]);
});

test('signals and time limits that cannot reach a process do no harm to the server', unless(why), async () => {
	const {client} = await unprivilegedServer();
	const {processId, pid, limitMs} = await withTimeEnough(async timeoutMs => {
		const id = `p${timeoutMs}`;
		await client.sh(id, `exec ${untouchable()}`, {timeoutMs});
		const survivor = await survivorBelow(client, id);
		return survivor === undefined ? undefined : {processId: id, pid: survivor, limitMs: timeoutMs};
	});
	expect(await client.call('process/signal', {processId, signal: 'interrupt'})).toEqual({});
	const mode = {graceful: {timeoutMs: 10}};
	expect(await client.call('process/terminate', {processId, mode})).toEqual({running: true});
	// Both limits run out before this one, which began last.
	expect(await client.call('process/wait', {processId, timeoutMs: limitMs})).toMatchObject({running: true});
	process.kill(pid, 'SIGKILL');
	await untilDead(pid);
	expect(await client.call('process/wait', {processId})).toMatchObject({exitCode: 137, running: false});
	await client.sh('q', 'echo still there');
	expect((await client.done('q')).stdout).toBe('still there\n');
	await eventually(() => client.about(processId).some(({method}) => method === 'process/closed'));
});
