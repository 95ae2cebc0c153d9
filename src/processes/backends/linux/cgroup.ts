// Linux only: control groups, version 2.
import {mkdirSync, readFileSync, rmdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {errorMessage, LongarmError} from '../../../shared/errors.js';

const ROOT = '/sys/fs/cgroup';
const CONTROLLERS = ['memory', 'pids'];

export interface CgroupLimits {
	/** Bytes all children together may use. */
	readonly memoryBytes?: number | undefined;
	/** Processes and threads all children together may be. */
	readonly processes?: number | undefined;
}

/**
 * Control group for all children. Needs a version 2 group that is delegated to this user and has this process as its only
 * member. Written after the kernel's documentation and tried on a copy of its files only.
 */
export class Cgroup {
	readonly path: string;
	readonly #server: string;

	/** Throws with the reason where that is not possible. */
	static create(limits: CgroupLimits, root = ROOT): Cgroup {
		const own = join(root, readOwnGroup());
		const missing = CONTROLLERS.filter(name => !readControllers(own).includes(name));
		if (missing.length > 0) throw new Error(`no ${missing.join(' and ')} controller for this program in ${own}`);
		const cgroup = new Cgroup(own);
		mkdirSync(cgroup.#server, {recursive: true});
		mkdirSync(cgroup.path, {recursive: true});
		// A group with members cannot enable controllers for its children: this process moves into a leaf first.
		writeFileSync(join(cgroup.#server, 'cgroup.procs'), String(process.pid));
		writeFileSync(join(own, 'cgroup.subtree_control'), CONTROLLERS.map(name => `+${name}`).join(' '));
		cgroup.#writeLimits(limits);
		return cgroup;
	}

	/** The group that an earlier program of this process has made; this process is in its leaf already. */
	static adopt(path: string, limits: CgroupLimits): Cgroup {
		const cgroup = new Cgroup(dirname(path));
		cgroup.#writeLimits(limits);
		return cgroup;
	}

	private constructor(own: string) {
		this.path = join(own, `longarm-${process.pid}-children`);
		this.#server = join(own, `longarm-${process.pid}`);
	}

	/** Descendants the process starts from now on join the group, too. Throws if it cannot be added. */
	add(pid: number): void {
		try {
			writeFileSync(join(this.path, 'cgroup.procs'), String(pid));
		} catch (error) {
			throw new LongarmError('SPAWN_FAILED', {
				message: `the control group refused: ${errorMessage(error)}`,
				cause: error,
			});
		}
	}

	/** Number of processes the OOM killer ended for the memory limit of the group. */
	get memoryKills(): number {
		try {
			return Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(this.path, 'memory.events'), 'latin1'))?.[1] ?? 0);
		} catch {
			return 0;
		}
	}

	/** Removes the group unless it still has members. */
	remove(): void {
		try {
			rmdirSync(this.path);
		} catch {}
	}

	#writeLimits({memoryBytes, processes}: CgroupLimits): void {
		if (memoryBytes !== undefined) writeFileSync(join(this.path, 'memory.max'), String(memoryBytes));
		if (processes !== undefined) writeFileSync(join(this.path, 'pids.max'), String(processes));
	}
}

function readOwnGroup(): string {
	const line = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'latin1'));
	if (!line) throw new Error('this system has no control groups of version 2');
	return line[1]!;
}

function readControllers(group: string): string[] {
	try {
		return readFileSync(join(group, 'cgroup.controllers'), 'latin1').trim().split(/\s+/);
	} catch {
		throw new Error(`there is no control group of version 2 at ${group}`);
	}
}
