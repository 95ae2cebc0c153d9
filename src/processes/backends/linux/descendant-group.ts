// Linux only: control groups, version 1 (freezer) and version 2.
import {mkdirSync, readFileSync, rmdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';

interface Hierarchy {
	/** Directory of the group this process is in. */
	readonly directory: string;
	/** File of a group that takes this thread (version 1) or this process (version 2). */
	readonly membersFile: string;
}

/**
 * Control group whose members are this process, or in version 1 its main thread, and everything that is started from now
 * on below it: a mark that costs nothing per child and that an ordinary process cannot take off. It limits nothing.
 */
export class DescendantGroup {
	readonly path: string;
	readonly #hierarchy: Hierarchy;

	/** Undefined where this process may not create groups. */
	static create(name: string, readFile = readText): DescendantGroup | undefined {
		for (const hierarchy of findHierarchies(readFile)) {
			const group = new DescendantGroup(join(hierarchy.directory, name), hierarchy);
			if (group.#make()) return group;
		}
		return undefined;
	}

	private constructor(path: string, hierarchy: Hierarchy) {
		this.path = path;
		this.#hierarchy = hierarchy;
	}

	/** Must be called on the main thread. False where the system refuses; the group is removed then. */
	join(): boolean {
		try {
			writeFileSync(join(this.path, this.#hierarchy.membersFile), String(process.pid));
			return true;
		} catch {
			this.#remove();
			return false;
		}
	}

	#make(): boolean {
		try {
			mkdirSync(this.path);
			return true;
		} catch {
			return false;
		}
	}

	#remove(): void {
		try {
			rmdirSync(this.path);
		} catch {}
	}
}

/** Moves this process, with all its threads, to the group above. Throws where that is not possible. */
export function leaveGroup(path: string): void {
	writeFileSync(join(dirname(path), 'cgroup.procs'), String(process.pid));
	const members = readText(join(path, 'cgroup.procs')).split('\n');
	if (members.includes(String(process.pid))) throw new Error(`the control group ${path} cannot be left`);
}

/** The freezer first: it takes single threads, and where both versions are in use the second one belongs to the init system. */
function findHierarchies(readFile: (path: string) => string): Hierarchy[] {
	const groups = readFile('/proc/self/cgroup');
	const mounts = readFile('/proc/self/mountinfo');
	const freezer = /^\d+:(?:[^:]*,)?freezer(?:,[^:]*)?:(\/.*)$/m.exec(groups)?.[1];
	const unified = /^0::(\/.*)$/m.exec(groups)?.[1];
	const found = [
		{path: freezer, mount: findMount(mounts, ({type, options}) => type === 'cgroup' && options.includes('freezer'))},
		{path: unified, mount: findMount(mounts, ({type}) => type === 'cgroup2')},
	];
	const [first, second] = found.map(({path, mount}) => (path && mount ? resolveGroup(path, mount) : undefined));
	return [
		...(first ? [{directory: first, membersFile: 'tasks'}] : []),
		...(second ? [{directory: second, membersFile: 'cgroup.procs'}] : []),
	];
}

interface Mount {
	readonly root: string;
	readonly point: string;
	readonly type: string;
	readonly options: readonly string[];
}

function findMount(mounts: string, matches: (mount: Mount) => boolean): Mount | undefined {
	return mounts
		.split('\n')
		.map(parseMount)
		.find(mount => mount !== undefined && matches(mount));
}

/** A line of mountinfo: ids, root and mount point before the dash; type, source and options behind it. */
function parseMount(line: string): Mount | undefined {
	const [before, behind] = line.split(' - ');
	const [, , , root, point] = before!.split(' ');
	const [type, , options] = behind?.split(' ') ?? [];
	if (!root || !point || !type || !options) return undefined;
	return {root, point, type, options: options.split(',')};
}

/** Undefined for a group outside of what is mounted, as in some containers. */
function resolveGroup(path: string, {root, point}: Mount): string | undefined {
	if (path.includes('/..') || root.includes('/..')) return undefined;
	if (root === '/') return join(point, path);
	return path === root || path.startsWith(`${root}/`) ? join(point, path.slice(root.length)) : undefined;
}

function readText(path: string): string {
	try {
		return readFileSync(path, 'latin1');
	} catch {
		return '';
	}
}
