import {type ChildProcess, spawn} from 'node:child_process';
import {copyFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Readable} from 'node:stream';
import {expect, onTestFinished, test} from 'vitest';
import {killTree, killTreeInTurns} from '../../../src/processes/tree/kill-tree.js';
import {
	isCertainlyAlone,
	isHalted,
	isStillAlive,
	listChildren,
	listDescendants,
	readProcessInfo,
} from '../../../src/processes/tree/process-tree.js';
import {waitForSurvivors} from '../../../src/processes/tree/wait-for-survivors.js';
import {isInstalled, unless} from '../../helpers/needs.js';
import {endWithTest} from '../../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {listRunningWith, spawnUnrelated} from '../../helpers/subreaper.js';
import {waitTicks} from '../../helpers/ticks.js';

const canVfork = process.arch === 'x64' && isInstalled('perl');
const needsVfork = unless(canVfork ? undefined : 'it takes perl, and the number of a system call of x64');

interface Tree {
	readonly child: ChildProcess;
	readonly leader: {pid: number; tag: undefined};
	/** The pids it printed. */
	readonly pids: number[];
}

/** Starts the leader of a group of its own that prints so many process ids. */
async function tree(count: number, argv: readonly [string, ...string[]]): Promise<Tree> {
	const [file, ...args] = argv;
	const child = spawn(file, args, {detached: true, stdio: ['ignore', 'pipe', 'inherit']});
	const numbers = await read(child.stdout, count);
	endWithTest(child.pid!, ...numbers);
	return {child, leader: {pid: child.pid!, tag: undefined}, pids: numbers};
}

function sh(count: number, script: string): Promise<Tree> {
	return tree(count, ['/bin/sh', '-c', script]);
}

function read(stdout: Readable, count: number): Promise<number[]> {
	return new Promise(resolve => {
		let text = '';
		stdout.setEncoding('utf8').on('data', (more: string) => {
			text += more;
			const numbers = text.match(/\d+(?=\s)/g) ?? [];
			if (numbers.length >= count) resolve(numbers.map(Number));
		});
	});
}

test('a process that does not lead its group yet is killed all the same', async () => {
	const child = spawn('sleep', ['1000'], {stdio: 'ignore'});
	endWithTest(child.pid!);
	expect(isCertainlyAlone(child.pid!)).toBe(true);
	expect(killTreeInTurns({pid: child.pid!, tag: undefined})).toEqual([]);
	await untilDead(child.pid!);
});

test('a tree is killed whole, and those whose end is not sure are named: the ones that left the group', async () => {
	const script = `
		sleep 1000 & echo $!
		setsid sh -c 'echo $$; sleep 1000 & echo $!; setsid sh -c "echo \\$\\$; exec sleep 1000" & wait' &
		wait`;
	const {leader, pids} = await sh(4, script);
	const apart = spawnUnrelated();
	const strays = pids.slice(1).map(readProcessInfo);
	expect(strays.every(info => info !== undefined)).toBe(true);
	const named = killTree(leader);
	expect(new Set(named.map(({pid}) => pid))).toEqual(new Set(pids.slice(1)));
	expect(await waitForSurvivors(leader, named)).toEqual([]);
	expect(pids.slice(1).filter(isAlive)).toEqual([]);
	// Members of the group are dead or dying.
	await untilDead(leader.pid, pids[0]!);
	expect(isAlive(apart)).toBe(true);
});

test.each([
	['in the group of its leader', (script: string) => script],
	['in a session of its own', (script: string) => `setsid sh -c '${script}' & wait`],
])(
	'a tree that grows %s while it is killed is stopped first, so that nothing started meanwhile gets away',
	async (where, grow) => {
		for (let round = 0; round < 3; round++) {
			const marker = `10${process.pid}.${where.length}${round}`;
			// One after the other leaves the group for a session of its own, where no signal to the group reaches it.
			const child = `setsid sh -c "echo \\$\\$; exec sleep ${marker}"`;
			const {leader} = await sh(
				20,
				grow(`i=0; while [ $i -lt 2000 ]; do ${child} & i=$((i+1)); done; exec sleep 1000`),
			);
			// However long a loaded machine takes to stop what it does not even let run.
			const named = killTree(leader, 60_000);
			await untilDead(leader.pid, ...named.map(({pid}) => pid));
			const escaped = listRunningWith(marker);
			endWithTest(...escaped);
			expect(escaped).toEqual([]);
		}
	},
);

test('a tree that does not stop is killed, and holds up nothing else until then', needsVfork, async () => {
	// A process that waits for a child which shares its memory stops for no signal, and ends by SIGKILL only.
	const vfork = 58;
	const stuck = `$| = 1; print "$$\\n"; if (syscall(${vfork}) == 0) { print "$$\\n"; sleep 1000 }`;
	const {leader, pids} = await sh(2, `setsid perl -e '${stuck}' & wait`);
	const killing = killTreeInTurns(leader);
	let isOver = false;
	void Promise.resolve(killing).finally(() => {
		isOver = true;
	});
	await waitTicks();
	expect(isOver).toBe(false);
	expect((await killing).map(({pid}) => pid)).toContain(pids[0]);
	await untilDead(leader.pid, ...(await killing).map(({pid}) => pid));
});

test('the end of a group is sure', async () => {
	const {leader, pids} = await sh(2, 'sleep 1000 & echo $!; sh -c "echo \\$\\$; sleep 1000; :" & wait');
	expect(killTree(leader)).toEqual([]);
	await untilDead(leader.pid, ...pids);
});

test('a tree that is gone already is no error', async () => {
	const {child, leader} = await sh(1, 'echo $$');
	await new Promise(resolve => {
		if (child.exitCode === null) child.once('exit', resolve);
		else resolve(undefined);
	});
	expect(killTree(leader)).toEqual([]);
	expect(await waitForSurvivors(leader, [])).toEqual([]);
});

test('who should be gone and still lives is a survivor, a later process with the same id is not', async () => {
	const {leader} = await sh(1, 'echo $$; exec sleep 1000');
	const [survivor, other] = [readProcessInfo(spawnUnrelated())!, readProcessInfo(spawnUnrelated())!];
	const dead = {...other, startTime: '1'};
	expect(killTree(leader)).toEqual([]);
	let hasTurned = false;
	setImmediate(() => {
		hasTurned = true;
	});
	expect(await waitForSurvivors(leader, [survivor, dead])).toEqual([survivor]);
	// Everybody else is served meanwhile.
	expect(hasTurned).toBe(true);
	expect([survivor, other].map(isStillAlive)).toEqual([true, true]);
});

test('a process is described as the kernel does, whatever its name', async () => {
	const program = join(scratchDirectory(), 'a) Z 1 (b');
	copyFileSync('/bin/sleep', program);
	const child = spawn(program, ['1000'], {stdio: 'ignore', detached: true});
	onTestFinished(() => void child.kill('SIGKILL'));
	const pid = child.pid!;
	await eventually(() => readProcessInfo(pid)?.command === 'a) Z 1 (b');
	expect(readProcessInfo(pid)).toEqual({
		pid,
		parentPid: process.pid,
		groupId: pid,
		sessionId: pid,
		userId: process.geteuid!(),
		startTime: expect.stringMatching(/^\d+$/) as unknown,
		command: 'a) Z 1 (b',
	});
});

test('a process has halted when it is stopped or gone, not when it only sleeps', async () => {
	const {leader} = await sh(1, 'echo $$; exec sleep 1000');
	expect(isHalted(leader.pid)).toBe(false);
	process.kill(leader.pid, 'SIGSTOP');
	await eventually(() => isHalted(leader.pid));
	process.kill(leader.pid, 'SIGCONT');
	await eventually(() => !isHalted(leader.pid));
	process.kill(leader.pid, 'SIGKILL');
	await untilDead(leader.pid);
	expect(isHalted(leader.pid)).toBe(true);
});

test('a process is alone without a child and with one thread only', async () => {
	const alone = await sh(1, 'echo $$; exec sleep 1000');
	expect(isCertainlyAlone(alone.leader.pid)).toBe(true);
	const parent = await sh(1, 'setsid sleep 1000 & echo $!; wait');
	expect(isCertainlyAlone(parent.leader.pid)).toBe(false);
	const threaded = await tree(1, [process.execPath, '-e', 'console.log(process.pid); setInterval(() => {}, 1000)']);
	expect(isCertainlyAlone(threaded.leader.pid)).toBe(false);
	process.kill(alone.leader.pid, 'SIGKILL');
	await new Promise(resolve => alone.child.once('exit', resolve));
	expect(isCertainlyAlone(alone.leader.pid)).toBe(false);
});

test('trees that are ended together are waited for together, and each wait tells of its own', async () => {
	const all = await Promise.all(Array.from({length: 5}, () => sh(1, 'setsid sleep 1000 & echo $!; wait')));
	const outsider = readProcessInfo(spawnUnrelated())!;
	const waits = all.map(({leader}, index) => {
		const named = killTree(leader);
		return waitForSurvivors(leader, index === 2 ? [...named, outsider] : named);
	});
	expect(await Promise.all(waits)).toEqual(all.map((_, index) => (index === 2 ? [outsider] : [])));
	await untilDead(...all.flatMap(({pids}) => pids));
});

test('the dead are gone, reaped or not', async () => {
	// The child ends once its parent is a program that reaps nobody; a shell might reap it first.
	const child = `until [ "$(cat /proc/$PPID/comm)" = sleep ]; do sleep 0.01; done`;
	const {leader, pids} = await sh(1, `sh -c '${child}' & echo $!; exec sleep 1000`);
	await eventually(() => !isAlive(pids[0]!));
	expect(listChildren(leader.pid)).toEqual(pids);
	expect([readProcessInfo(pids[0]!), listDescendants(leader.pid)]).toEqual([undefined, []]);
});

test('children of every thread are found, of those that have ended, too', async () => {
	const worker = `
		const {spawn} = require('node:child_process');
		const {parentPort} = require('node:worker_threads');
		parentPort.postMessage(spawn('sleep', ['1000'], {stdio: 'ignore', detached: true}).pid);
		parentPort.once('message', () => process.exit());`;
	const program = `
		const {Worker} = require('node:worker_threads');
		const start = () => new Worker(${JSON.stringify(worker)}, {eval: true}).on('message', pid => console.log(pid));
		start();
		start().on('message', function () { this.postMessage('end'); }).on('exit', () => console.log(0));
		setInterval(() => {}, 1000);`;
	const {leader, pids} = await tree(3, [process.execPath, '-e', program]);
	const sleepers = pids.filter(pid => pid !== 0);
	const found = listDescendants(leader.pid).map(({pid}) => pid);
	expect(new Set(found)).toEqual(new Set(sleepers));
	expect(new Set(killTree(leader).map(({pid}) => pid))).toEqual(new Set(sleepers));
	await untilDead(leader.pid, ...sleepers);
});
