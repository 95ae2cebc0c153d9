import {readdirSync, readFileSync, readlinkSync} from 'node:fs';

/** Time for which the mount tables are cached. */
const CACHE_TTL_MS = 1000;
/** They are cached for longer where there are so many processes that reading them takes long: this many times as long. */
const MIN_TTL_PER_COST = 100;

/** Types of file systems whose calls may block for ever: network file systems and FUSE. */
const REMOTE_FILE_SYSTEM =
	/^(?:nfs\d?|cifs|smb\w*|fuse(?:blk|\..*)?|9p|virtiofs|ceph|afs|lustre|autofs|davfs|gfs2?|ocfs2|beegfs|coda|orangefs|pvfs2|vboxsf|prl_fs)$/;
/** A path into the view of another process, such as `/proc/7/root`; links elsewhere may lead there, too. */
const PROCESS_VIEW = /(?:^|\/)(?:proc|fd)\//;

let expiresAt = Number.NEGATIVE_INFINITY;
let hasRemoteMounts = true;

/**
 * True if a file system call on the path may block for ever. A link can lead anywhere, so one remote mount is enough, also
 * one that only another process sees: `/proc/PID/root` leads to it. Without a mount table any mount may be remote.
 */
export function mayHang(path = ''): boolean {
	if (PROCESS_VIEW.test(path)) return true;
	const now = performance.now();
	if (now > expiresAt) {
		hasRemoteMounts = includesRemoteMount(readMounts('self')) || seesForeignRemoteMount();
		expiresAt = now + Math.max(CACHE_TTL_MS, (performance.now() - now) * MIN_TTL_PER_COST);
	}
	return hasRemoteMounts;
}

/** `mounts` is the text of `/proc/self/mountinfo`. */
export function includesRemoteMount(mounts: string | undefined): boolean {
	if (mounts === undefined) return true;
	return mounts.split('\n').some(line => REMOTE_FILE_SYSTEM.test(/ - (\S+)/.exec(line)?.[1] ?? ''));
}

/** Whether a process with mounts of its own, whose view this one may enter, has a remote one. */
function seesForeignRemoteMount(): boolean {
	const known = new Set([readNamespace('self')]);
	for (const pid of listProcesses()) {
		const namespace = readNamespace(pid);
		// One that cannot be read belongs to a process whose view cannot be entered either.
		if (namespace === undefined || known.has(namespace)) continue;
		known.add(namespace);
		const mounts = readMounts(pid);
		if (mounts !== undefined && includesRemoteMount(mounts)) return true;
	}
	return false;
}

function listProcesses(): string[] {
	try {
		return readdirSync('/proc').filter(name => /^\d+$/.test(name));
	} catch {
		return [];
	}
}

function readNamespace(pid: string): string | undefined {
	try {
		return readlinkSync(`/proc/${pid}/ns/mnt`);
	} catch {
		return undefined;
	}
}

function readMounts(pid: string): string | undefined {
	try {
		return readFileSync(`/proc/${pid}/mountinfo`, 'latin1');
	} catch {
		return undefined;
	}
}
