import {readFileSync} from 'node:fs';

/** How long the table of mounts is believed. */
const BELIEVED_MS = 1000;

/** File systems behind which somebody else answers, or never does: a network, or a program of a user. */
const REMOTE =
	/^(?:nfs\d?|cifs|smb\w*|fuse(?:blk|\..*)?|9p|virtiofs|ceph|afs|lustre|autofs|davfs|gfs2?|ocfs2|beegfs|coda|orangefs|pvfs2|vboxsf|prl_fs)$/;

let askedAt = Number.NEGATIVE_INFINITY;
let hangs = true;

/**
 * Whether a path may lead to a file system that does not answer. A link can lead anywhere, so one such mount is
 * enough; where the mounts cannot be known, any may be one.
 */
export function mayHang(): boolean {
	const now = performance.now();
	if (now - askedAt > BELIEVED_MS) {
		askedAt = now;
		hangs = hasRemote(readMounts());
	}
	return hangs;
}

/** `mounts` is the text of `/proc/self/mountinfo`. */
export function hasRemote(mounts: string | undefined): boolean {
	if (mounts === undefined) return true;
	return mounts.split('\n').some(line => REMOTE.test(/ - (\S+)/.exec(line)?.[1] ?? ''));
}

function readMounts(): string | undefined {
	try {
		return readFileSync('/proc/self/mountinfo', 'latin1');
	} catch {
		return undefined;
	}
}
