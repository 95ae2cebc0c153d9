import {readdirSync, readlinkSync} from 'node:fs';

/** Paths of the files below a directory that this process has open, removed ones included, sorted. */
export function openFilesBelow(directory: string): string[] {
	const targets = readdirSync('/proc/self/fd').map(fd => {
		try {
			return readlinkSync(`/proc/self/fd/${fd}`);
		} catch {
			// The descriptor of the list itself.
			return '';
		}
	});
	return targets.filter(target => target.startsWith(`${directory}/`)).sort();
}
