import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {expect, onTestFinished, test, vi} from 'vitest';
import {includesRemoteMount, mayHang} from '../../../src/shared/node/mounts.js';
import {needs, optionalProgram} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const LOCAL = `22 28 0:21 / /proc rw,nosuid - proc proc rw
28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 28 0:26 / /tmp rw - tmpfs tmpfs rw
40 28 0:35 / /sys/fs/fuse/connections rw - fusectl fusectl rw
41 28 0:36 / /nfs rw - xfs /dev/nfs rw`;

test.each(['nfs', 'nfs4', 'cifs', 'fuse', 'fuse.sshfs', 'fuseblk', '9p', 'virtiofs', 'autofs', 'ceph'])(
	'one mount of %s is enough to wait for everything elsewhere',
	type => {
		expect(includesRemoteMount(`${LOCAL}\n50 28 0:40 / /far rw shared:3 - ${type} somewhere rw\n`)).toBe(true);
	},
);

test('local disks are waited for here', () => {
	expect(includesRemoteMount(LOCAL)).toBe(false);
});

test('where the mounts are not known any may be far away', () => {
	expect(includesRemoteMount(undefined)).toBe(true);
});

test.each(['/proc/7/root/mnt', '/proc/self/task/7/cwd/x', '/dev/fd/3/x'])(
	'%s leads into the view of a process, where anything may be mounted',
	path => {
		expect(mayHang(path)).toBe(true);
	},
);

/** Mounts a FUSE file system that never answers where only this program sees it. */
const HIDDEN_MOUNT = `
import ctypes, os, sys, tempfile
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result != 0: sys.exit('no mount: ' + os.strerror(ctypes.get_errno()))
uid, gid = os.getuid(), os.getgid()
check(libc.unshare(0x10000000 | 0x20000))
for name, text in ('setgroups', 'deny'), ('uid_map', f'0 {uid} 1'), ('gid_map', f'0 {gid} 1'):
    open(f'/proc/self/{name}', 'w').write(text)
fuse = os.open('/dev/fuse', os.O_RDWR)
options = f'fd={fuse},rootmode=40000,user_id=0,group_id=0'
check(libc.mount(b'none', sys.argv[1].encode(), b'fuse', 0, options.encode()))
print('mounted', flush=True)
sys.stdin.read()
`;

test(
	'a remote mount that only another process sees counts, because links can lead to it',
	needs('python3'),
	async ({skip}) => {
		const child = spawn(optionalProgram('python3'), ['-c', HIDDEN_MOUNT, scratchDirectory()]);
		onTestFinished(() => void child.kill('SIGKILL'));
		let errors = '';
		child.stderr.on('data', text => (errors += String(text)));
		const [told] = await Promise.race([once(child.stdout, 'data'), once(child, 'close').then(() => [''])]);
		if (String(told) !== 'mounted\n') skip(`this user cannot mount a FUSE file system: ${errors.trim()}`);
		vi.resetModules();
		const {mayHang: mayHangNow} = await import('../../../src/shared/node/mounts.js');
		expect(mayHangNow('/tmp')).toBe(true);
	},
);
