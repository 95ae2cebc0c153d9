import {existsSync, mkdirSync, readFileSync, rmdirSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {DescendantGroup} from '../../../../src/processes/backends/linux/descendant-group.js';
import {scratchDirectory} from '../../../helpers/scratch.js';

/** The files of /proc for a process in these groups, with the hierarchies mounted in a directory. */
function describeSystem(groups: string, mounts: readonly string[]): (path: string) => string {
	return path => (path === '/proc/self/cgroup' ? groups : `${mounts.join('\n')}\n`);
}

test('the group is made in the freezer of version 1, and takes the main thread alone', () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'freezer/here'), {recursive: true});
	mkdirSync(join(root, 'unified'));
	const system = describeSystem('8:pids:/\n6:freezer:/here\n0::/\n', [
		`30 25 0:27 / ${root}/unified rw - cgroup2 cgroup2 rw`,
		`31 25 0:28 / ${root}/freezer rw - cgroup cgroup rw,freezer`,
	]);
	const group = DescendantGroup.create('ours', system);
	expect(group?.path).toBe(join(root, 'freezer/here/ours'));
	expect(group!.join()).toBe(true);
	expect(readFileSync(join(group!.path, 'tasks'), 'utf8')).toBe(String(process.pid));
});

test('the group of version 2 is found below the mounted part of the hierarchy', () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'service'));
	const system = describeSystem('0::/box/service\n', [`30 25 0:27 /box ${root} rw - cgroup2 cgroup2 rw,nsdelegate`]);
	const group = DescendantGroup.create('ours', system);
	expect(group?.path).toBe(join(root, 'service/ours'));
	expect(group!.join()).toBe(true);
	expect(readFileSync(join(group!.path, 'cgroup.procs'), 'utf8')).toBe(String(process.pid));
});

test.each([
	['without control groups', '', []],
	['in a group outside of what is mounted', '0::/../other\n', ['30 25 0:27 / MOUNT rw - cgroup2 cgroup2 rw']],
	['in a group that does not exist here', '0::/missing\n', ['30 25 0:27 / MOUNT rw - cgroup2 cgroup2 rw']],
])('%s there is none', (_, groups, mounts) => {
	const root = scratchDirectory();
	const system = describeSystem(
		groups,
		mounts.map(line => line.replace('MOUNT', root)),
	);
	expect(DescendantGroup.create('ours', system)).toBeUndefined();
});

test('a group that takes no member is removed', () => {
	const root = scratchDirectory();
	const system = describeSystem('0::/\n', [`30 25 0:27 / ${root} rw - cgroup2 cgroup2 rw`]);
	const group = DescendantGroup.create('ours', system)!;
	// The kernel refuses as a directory does that is gone.
	rmdirSync(group.path);
	expect(group.join()).toBe(false);
	expect(existsSync(group.path)).toBe(false);
});
