import {mkdirSync, readFileSync, rmdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const ROOT = '/sys/fs/cgroup';
const CONTROLLERS = ['memory', 'pids'];

export interface CgroupLimits {
	/** Bytes all children together may use. */
	readonly memoryBytes?: number | undefined;
	/** Processes and threads all children together may be. */
	readonly processes?: number | undefined;
}

/**
 * A control group of its own for all children, where the system lets us make one: version 2, handed over to this user,
 * with nobody but this program in it. Written after the kernel's documentation and tried on a copy of its files only.
 */
export class Cgroup {
	readonly path: string;
	readonly #server: string;

	/** Throws with the reason where that is not possible. */
	static create(limits: CgroupLimits, root = ROOT): Cgroup {
		const own = join(root, ownGroup());
		const missing = CONTROLLERS.filter(name => !controllersOf(own).includes(name));
		if (missing.length > 0) throw new Error(`no ${missing.join(' and ')} controller for this program in ${own}`);
		const cgroup = new Cgroup(own);
		// A group with members cannot hand controllers down: the program moves aside first.
		writeFileSync(join(cgroup.#server, 'cgroup.procs'), String(process.pid));
		writeFileSync(join(own, 'cgroup.subtree_control'), CONTROLLERS.map(name => `+${name}`).join(' '));
		cgroup.#limit(limits);
		return cgroup;
	}

	private constructor(own: string) {
		this.path = join(own, `longarm-${process.pid}-children`);
		this.#server = join(own, `longarm-${process.pid}`);
		mkdirSync(this.#server, {recursive: true});
		mkdirSync(this.path, {recursive: true});
	}

	/** Whatever the process starts from here on is in it, too. */
	add(pid: number): void {
		try {
			writeFileSync(join(this.path, 'cgroup.procs'), String(pid));
		} catch {
			// It has ended already.
		}
	}

	/** How many processes were ended because all together used too much. */
	get memoryKills(): number {
		try {
			return Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(this.path, 'memory.events'), 'latin1'))?.[1] ?? 0);
		} catch {
			return 0;
		}
	}

	/** An empty group goes; one that still has members stays with them. */
	remove(): void {
		try {
			rmdirSync(this.path);
		} catch {}
	}

	#limit({memoryBytes, processes}: CgroupLimits): void {
		if (memoryBytes !== undefined) writeFileSync(join(this.path, 'memory.max'), String(memoryBytes));
		if (processes !== undefined) writeFileSync(join(this.path, 'pids.max'), String(processes));
	}
}

function ownGroup(): string {
	const line = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'latin1'));
	if (!line) throw new Error('this system has no control groups of version 2');
	return line[1]!;
}

function controllersOf(group: string): string[] {
	try {
		return readFileSync(join(group, 'cgroup.controllers'), 'latin1').trim().split(/\s+/);
	} catch {
		throw new Error(`there is no control group of version 2 at ${group}`);
	}
}
