import type {ResolvedPath} from './host.js';
import {accessAt, compareByDepth, isMountWithin, type Mount, OWN_TREES, type SandboxPlan} from './plan.js';

/** Directories that tell of the machine below, and of its addresses, to root without any capability. */
export const HIDDEN_SYSTEM_PATHS = ['/sys/firmware', '/sys/devices/virtual/powercap'];

/**
 * Takes paths out of a plan, whatever its policy says about them or about something below them: those of the system, and
 * `paths`, which are the server's own. One that does not exist cannot be hidden.
 */
export function hidePaths(
	plan: SandboxPlan,
	paths: readonly string[],
	locate: (path: string) => ResolvedPath,
): SandboxPlan {
	let mounts: readonly Mount[] = plan.mounts;
	for (const path of [...HIDDEN_SYSTEM_PATHS, ...paths]) {
		const place = locate(path);
		if (!place.found || place.path === '/' || OWN_TREES.some(tree => isMountWithin(place.path, tree))) continue;
		const others = mounts.filter(mount => !isMountWithin(mount.path, place.path));
		const isShown = accessAt({...plan, mounts: others}, place.path) !== 'none';
		mounts = isShown ? [...others, {kind: 'hidden', path: place.path, fileType: place.kind}] : others;
	}
	return {...plan, mounts: [...mounts].sort(compareByDepth)};
}
