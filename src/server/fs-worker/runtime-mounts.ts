import {locatePath} from '../../sandbox/host.js';
import {accessAt, compareByDepth, type Mount, type SandboxPlan} from '../../sandbox/plan.js';

/** Where the libraries of a program are. */
const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/etc/ld.so.cache'];

/** The plan with what our own program needs to run in it, read-only, where the policy does not show it anyway. */
export function withRuntimeMounts(plan: SandboxPlan, paths: readonly string[]): SandboxPlan {
	const mounts: Mount[] = [...plan.mounts];
	for (const path of [...LIBRARIES, ...paths]) {
		const place = locatePath(path);
		if (!place.found) continue;
		for (const link of place.links) if (!isShown(link.path)) mounts.push({kind: 'link', ...link});
		if (!isShown(place.path)) mounts.push({kind: 'read', path: place.path});
	}
	return {...plan, mounts: mounts.sort(compareByDepth)};

	function isShown(path: string): boolean {
		return (
			accessAt({...plan, mounts}, path) !== 'none' || mounts.some(mount => mount.kind === 'link' && mount.path === path)
		);
	}
}
