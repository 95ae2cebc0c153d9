import {expect, test} from 'vitest';
import {includesRemoteMount} from '../../../src/shared/node/mounts.js';

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
