import {mkdtempSync, openSync, rmSync, writeSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {SandboxPlan} from './plan.js';
import {seccompFilter} from './seccomp-filter.js';

const files = new Map<SandboxPlan['network'], string>();

/**
 * A path at which this program, and a child it is making, can open the filter. The file itself has no name, so that
 * nobody else can change it and nothing is left behind.
 */
export function filterPath(network: SandboxPlan['network']): string {
	const known = files.get(network);
	if (known !== undefined) return known;
	const directory = mkdtempSync(join(tmpdir(), 'longarm-filter-'));
	try {
		const fd = openSync(join(directory, 'filter'), 'wx+', 0o600);
		writeSync(fd, seccompFilter(network));
		const path = `/proc/self/fd/${fd}`;
		files.set(network, path);
		return path;
	} finally {
		rmSync(directory, {recursive: true});
	}
}
