import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import type {ChildLimits} from '../../../src/processes/backends/child-limits.js';
import {nativeBackend, type Outcome, PIPES, PTY, run, sh} from '../../helpers/children.js';

const backend = nativeBackend();

/** Limits as seen by a child and by a grandchild. */
async function held(limits: ChildLimits, script: string, io: Parameters<typeof sh>[1] = PIPES): Promise<string[]> {
	const {stdout, pty} = await runHeld(`${script}; sh -c '${script}'`, limits, io);
	return (stdout + pty).trim().split(/\r?\n/);
}

async function runHeld(script: string, limits: ChildLimits, io: Parameters<typeof sh>[1] = PIPES): Promise<Outcome> {
	return run(backend, {...sh(script, io), limits});
}

const LIMITS: [keyof ChildLimits, number, string, string][] = [
	['memoryBytes', 512 * 1024 * 1024, 'ulimit -d', String(512 * 1024)],
	['processes', 4321, 'ulimit -p', '4321'],
	['openFiles', 321, 'ulimit -n', '321'],
	['fileBytes', 1024 * 1024, 'ulimit -f', '2048'],
	['cpuSeconds', 77, 'ulimit -t', '77'],
];

test.each(LIMITS)('%s is a limit for the child and whatever it starts', async (name, value, script, expected) => {
	expect(await held({[name]: value}, script)).toEqual([expected, expected]);
	expect(await held({[name]: value}, script, PTY)).toEqual([expected, expected]);
});

test('a limit is never raised above that of the server', async () => {
	const [, own] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))!;
	expect(await held({openFiles: Number(own) * 2}, 'ulimit -n')).toEqual([own, own]);
});

test('children have their turn less often and go first when memory runs out', async () => {
	const script = 'cut -d" " -f19 /proc/$$/stat; cat /proc/$$/oom_score_adj';
	expect(await held({nice: 7, oomScore: 600}, script)).toEqual(['7', '600', '7', '600']);
});

test('nothing is changed that nobody asked for', async () => {
	const own = readFileSync('/proc/self/oom_score_adj', 'latin1').trim();
	expect(await held({}, 'cat /proc/$$/oom_score_adj')).toEqual([own, own]);
});

test('a child that would take more memory than it may cannot', async () => {
	const script = 'exec dd if=/dev/zero of=/dev/null bs=1G count=1 2>/dev/null';
	expect(await runHeld(script, {})).toMatchObject({exitCode: 0});
	expect(await runHeld(script, {memoryBytes: 512 * 1024 * 1024})).toMatchObject({exitCode: 1});
});
