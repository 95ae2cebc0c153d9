import {dirname} from 'node:path';
import {accessAt, compareByDepth, isMountWithin, type Mount, OWN_TREES, type SandboxPlan} from './plan.js';

/**
 * Adds a mount of every writable directory above another mount. The kernel does not rename a mount point, but it does
 * rename the directories above one: a protected path would leave its place together with them, and something else could be
 * put there.
 */
export function pinDirectories(plan: SandboxPlan): SandboxPlan {
	const mounted = new Set(plan.mounts.map(({path}) => path));
	const pins = new Map<string, Mount>();
	for (const {path} of plan.mounts) {
		// A pin would show the host's tree in the place of the sandbox's own, in which nothing can be renamed.
		if (OWN_TREES.some(tree => isMountWithin(path, tree))) continue;
		for (let above = dirname(path); above !== '/' && !mounted.has(above) && !pins.has(above); above = dirname(above)) {
			if (accessAt(plan, above) === 'write') pins.set(above, {kind: 'pin', path: above});
		}
	}
	return pins.size === 0 ? plan : {...plan, mounts: [...plan.mounts, ...pins.values()].sort(compareByDepth)};
}
