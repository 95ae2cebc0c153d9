import {readFileSync} from 'node:fs';

/** Time for which the mount table is cached. */
const CACHE_TTL_MS = 1000;

/** Types of file systems whose calls may block for ever: network file systems and FUSE. */
const REMOTE_FILE_SYSTEM =
	/^(?:nfs\d?|cifs|smb\w*|fuse(?:blk|\..*)?|9p|virtiofs|ceph|afs|lustre|autofs|davfs|gfs2?|ocfs2|beegfs|coda|orangefs|pvfs2|vboxsf|prl_fs)$/;

let checkedAt = Number.NEGATIVE_INFINITY;
let hasRemoteMounts = true;

/**
 * True if a file system call may block for ever. A link can lead anywhere, so one remote mount is enough; without a
 * mount table any mount may be remote.
 */
export function mayHang(): boolean {
	const now = performance.now();
	if (now - checkedAt > CACHE_TTL_MS) {
		checkedAt = now;
		hasRemoteMounts = includesRemoteMount(readMounts());
	}
	return hasRemoteMounts;
}

/** `mounts` is the text of `/proc/self/mountinfo`. */
export function includesRemoteMount(mounts: string | undefined): boolean {
	if (mounts === undefined) return true;
	return mounts.split('\n').some(line => REMOTE_FILE_SYSTEM.test(/ - (\S+)/.exec(line)?.[1] ?? ''));
}

function readMounts(): string | undefined {
	try {
		return readFileSync('/proc/self/mountinfo', 'latin1');
	} catch {
		return undefined;
	}
}
