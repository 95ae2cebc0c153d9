import {execFileSync, spawnSync} from 'node:child_process';
import {onTestFinished, type TestOptions} from 'vitest';
import {isRoot, unless} from './needs.js';
import {scratchDirectory} from './scratch.js';

/** Options of tests that mount a disk of their own. */
export function needsMount(): Pick<TestOptions, 'skip' | 'meta'> {
	if (!isRoot) return unless('only root can mount');
	const {status} = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], {stdio: 'ignore'});
	return unless(status === 0 ? undefined : 'mounting is not permitted here');
}

/** A file system of this size, such as `64k`; gone with the test. */
export function smallDisk(size: string): string {
	const place = scratchDirectory();
	execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', place], {stdio: 'ignore'});
	onTestFinished(() => void execFileSync('umount', ['-l', place]));
	return place;
}
