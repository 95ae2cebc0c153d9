import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, test} from 'vitest';
import {Cgroup} from '../../../../src/processes/backends/linux/cgroup.js';
import {scratchDirectory} from '../../../helpers/scratch.js';

/** A copy of the kernel's files, as far as they are looked at. */
function copyOf(controllers: string): {root: string; own: string} {
	const root = scratchDirectory();
	const [, group] = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'latin1'))!;
	const own = join(root, group!);
	mkdirSync(own, {recursive: true});
	writeFileSync(join(own, 'cgroup.controllers'), controllers);
	return {root, own};
}

test('children are put in a group with limits, and the program moves aside', () => {
	const {root, own} = copyOf('cpu memory pids\n');
	const cgroup = Cgroup.create({memoryBytes: 1000, processes: 20}, root);
	cgroup.add(4711);
	expect(dirname(cgroup.path)).toBe(own.replace(/\/$/, ''));
	expect(readFileSync(join(cgroup.path, 'memory.max'), 'utf8')).toBe('1000');
	expect(readFileSync(join(cgroup.path, 'pids.max'), 'utf8')).toBe('20');
	expect(readFileSync(join(cgroup.path, 'cgroup.procs'), 'utf8')).toBe('4711');
	expect(readFileSync(join(own, 'cgroup.subtree_control'), 'utf8')).toBe('+memory +pids');
	writeFileSync(join(cgroup.path, 'memory.events'), 'low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\n');
	expect(cgroup.memoryKills).toBe(2);
});

test('a system that does not hand over what is needed is refused with the reason', () => {
	expect(() => Cgroup.create({}, copyOf('cpu memory').root)).toThrow('no pids controller for this program');
	expect(() => Cgroup.create({}, scratchDirectory())).toThrow('there is no control group of version 2');
});
