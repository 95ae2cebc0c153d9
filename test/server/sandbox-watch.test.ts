import {expect, onTestFinished, test, vi} from 'vitest';
import type {ManagedProcess} from '../../src/processes/managed-process.js';
import type {Orphan} from '../../src/processes/tree/subreaper.js';
import {SANDBOX_LINGER_MS, SandboxWatch} from '../../src/server/sandboxed-peers.js';

const orphans = vi.hoisted((): Orphan[] => []);
vi.mock(import('../../src/processes/tree/subreaper.js'), async importOriginal => ({
	...(await importOriginal()),
	listOrphans: () => orphans,
}));

const ORPHAN: Orphan = {
	pid: 20,
	tag: '1',
	isDead: false,
	parentPid: 1,
	groupId: 20,
	sessionId: 20,
	userId: 0,
	startTime: '1',
	command: 'sleep',
};

/** Before every process of this machine. */
const STARTED_AT = Number.NEGATIVE_INFINITY;

const process = (tag: string | undefined, isSandboxed = true) =>
	({
		options: {isSandboxed, isSandboxedWithNetwork: isSandboxed},
		state: {kind: 'exited'},
		leader: {pid: 10, tag, spawnedAt: STARTED_AT},
	}) as unknown as ManagedProcess;

function watchAfter(ended: ManagedProcess): SandboxWatch {
	vi.useFakeTimers({toFake: ['performance']});
	onTestFinished(() => {
		vi.useRealTimers();
		orphans.length = 0;
	});
	const watch = new SandboxWatch();
	watch.noteEnd(ended);
	vi.advanceTimersByTime(SANDBOX_LINGER_MS);
	return watch;
}

test('connections are checked as long as a descendant of an ended sandbox lives', () => {
	orphans.push(ORPHAN);
	const watch = watchAfter(process('1'));
	expect(watch).toMatchObject({isOver: false, sinceEndMs: 0});
	expect(watch.listEndedWithDescendants()).toMatchObject([{pid: 10, tag: '1'}]);
	orphans.length = 0;
	expect(watch).toMatchObject({isOver: true, sinceEndMs: SANDBOX_LINGER_MS});
});

test.each<[string, ManagedProcess, boolean]>([
	['a descendant of another process does not matter', process('2'), true],
	['a descendant of a process without a sandbox does not matter', process('1', false), true],
	['any untagged orphan may descend from a process without a tag', process(undefined), false],
])('%s', (_name, ended, isOver) => {
	orphans.push(ended.leader?.tag === undefined ? {...ORPHAN, tag: undefined} : ORPHAN);
	expect(watchAfter(ended).isOver).toBe(isOver);
});

test('many ended sandboxes without descendants are forgotten, and others are not', () => {
	orphans.push(ORPHAN);
	const watch = watchAfter(process('1'));
	for (let index = 0; index < 1000; index++) watch.rememberEnded([{pid: 1000 + index, tag: String(index + 2)}]);
	expect(watch.listEndedWithDescendants()).toHaveLength(1);
});
