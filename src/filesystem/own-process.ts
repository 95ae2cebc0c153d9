import {
	closeSync,
	constants,
	existsSync,
	fstatSync,
	lstatSync,
	readFileSync,
	readlinkSync,
	type Stats,
	statfsSync,
} from 'node:fs';
import {OwnEntryError} from './file-errors.js';

/** `f_type` of procfs. */
const PROC_SUPER_MAGIC = 0x9fa0;
/** Block size of procfs, whichever instance of it is mounted: those of disks and of memory are larger. */
const PROC_BLOCK_BYTES = 1024;
/** Entries of the own process that are about the system; `/proc/net` and `/proc/mounts` are links to them. */
const SYSTEM_ENTRY = /^\/\d+\/(?:net(?:\/.*)?|mounts)$/;
/** The memory of the machine, ours included. */
const KERNEL_MEMORY = '/kcore';

let procDevice: number | undefined;

/**
 * True if the file may be below `/proc`: costs nothing for all others. `/proc` itself may be mounted late or several
 * times, so that its device alone does not tell.
 */
export function mayBeProc({dev, blksize}: Stats): boolean {
	procDevice ??= findProcDevice();
	return dev === procDevice || (blksize === PROC_BLOCK_BYTES && process.platform === 'linux');
}

/** True if an open file may be one that only descriptors of a process lead to: a pipe, or a file without a name. */
export function mayBeUnnamed({mode, nlink}: Stats): boolean {
	return nlink === 0 || (mode & constants.S_IFMT) === constants.S_IFIFO;
}

/**
 * Throws if a descriptor is of an entry that shows this process: its environment, its memory, its descriptors. The open
 * file is judged, so neither links nor mounts nor a swap on the way matter.
 */
export function refuseOwnEntry(fd: number, stats: Stats): void {
	const isProc = mayBeProc(stats);
	if (!isProc && !mayBeUnnamed(stats)) return;
	if (process.platform !== 'linux') return;
	const name = readlinkSync(`/proc/self/fd/${fd}`, 'latin1');
	// Pipes and sockets have no path at all. Those a client may use have a name in a directory.
	if (!name.startsWith('/') || (stats.nlink === 0 && name.startsWith('/memfd:'))) throw new OwnEntryError();
	if (isProc && isProcFileSystem(`/proc/self/fd/${fd}`) && !isForeign(fd, name, stats.dev)) throw new OwnEntryError();
}

/** Judges a descriptor that was opened for this only, and closes it. */
export function judgeAndClose(fd: number): Stats {
	try {
		const stats = fstatSync(fd);
		refuseOwnEntry(fd, stats);
		return stats;
	} finally {
		closeSync(fd);
	}
}

/** True if the entry is certain not to be one of this process. */
function isForeign(fd: number, name: string, device: number): boolean {
	const mount = findMount(fd, name, device);
	if (!mount) return false;
	const entry = `${mount.root}/${name.slice(mount.point.length)}`.replaceAll(/\/{2,}/g, '/');
	const id = /^\/(\d+)(?:\/|$)/.exec(entry)?.[1];
	if (id === undefined) return entry !== KERNEL_MEMORY;
	const top = device === procDevice ? '/proc' : mount.root === '/' ? mount.point : undefined;
	// Numbers differ between process namespaces, and only the top of an instance tells which is ours.
	if (top === undefined || lstatSync(top).dev !== device) return false;
	if (SYSTEM_ENTRY.test(entry)) return true;
	// An id may be that of a thread. One that has ended in between may have been ours.
	return !existsSync(`${top}/self/task/${id}`) && existsSync(`${top}/${id}`);
}

interface Mount {
	/** Directory of the file system that is mounted. */
	readonly root: string;
	/** Path it is mounted at. */
	readonly point: string;
}

/** The mount through which a file was opened; where the system does not tell, the innermost that its path allows. */
function findMount(fd: number, name: string, device: number): Mount | undefined {
	const id = readMountId(fd);
	const deviceNumbers = `${(device >> 8) & 0xfff}:${(device & 0xff) | ((device >> 12) & 0xfff00)}`;
	let found: Mount | undefined;
	for (const line of readFileSync('/proc/self/mountinfo', 'latin1').split('\n')) {
		const [mountId, , numbers, root, point] = line.split(' ');
		if (root === undefined || point === undefined || numbers !== deviceNumbers) continue;
		const mount = {root: unescapeOctal(root), point: unescapeOctal(point)};
		if (!isBelow(name, mount.point)) continue;
		if (id === undefined ? !found || mount.point.length >= found.point.length : mountId === id) found = mount;
	}
	return found;
}

function isBelow(name: string, point: string): boolean {
	return name === point || name.startsWith(point === '/' ? point : `${point}/`);
}

/** Undefined where the kernel does not tell, or not to us. */
function readMountId(fd: number): string | undefined {
	try {
		return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
	} catch {
		return undefined;
	}
}

/** Blanks and the like are written as `\040` in the mount table. */
function unescapeOctal(text: string): string {
	return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** Not a number, which equals nothing, where there is no procfs. */
function findProcDevice(): number {
	try {
		return isProcFileSystem('/proc') ? lstatSync('/proc').dev : Number.NaN;
	} catch {
		return Number.NaN;
	}
}

function isProcFileSystem(path: string): boolean {
	return statfsSync(path).type === PROC_SUPER_MAGIC;
}
