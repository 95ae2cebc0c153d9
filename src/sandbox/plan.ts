/** What stands at one place of the sandboxed view. Later mounts cover earlier ones. */
export type Mount =
	/** The host's file or tree, as it is or without the right to change it. */
	| {readonly kind: 'read' | 'write'; readonly path: string}
	/** Something nobody can look into, only pass through to what stands below it. */
	| {readonly kind: 'hidden'; readonly path: string; readonly of: 'file' | 'directory'}
	/** A symbolic link, where the view does not show the directory that holds the host's own. */
	| {readonly kind: 'link'; readonly path: string; readonly to: string};

/** A policy with nothing left to look up: every path is absolute, real and there. */
export interface SandboxPlan {
	/** In the order they are made: what is deeper comes later. A view that does not begin with `/` begins empty. */
	readonly mounts: readonly Mount[];
	readonly network: 'none' | 'host';
}

export type Access = 'read' | 'write' | 'none';

/** What the plan allows at a real path. */
export function accessAt({mounts}: SandboxPlan, path: string): Access {
	const covering = mounts.findLast(mount => mount.kind !== 'link' && isMountWithin(path, mount.path));
	return covering?.kind === 'read' || covering?.kind === 'write' ? covering.kind : 'none';
}

/** Nothing is kept from a program under this plan, as far as files go. */
export function leavesFilesAlone({mounts}: SandboxPlan): boolean {
	return mounts.length === 1 && mounts[0]!.kind === 'write' && mounts[0]!.path === '/';
}

/** `path` is `directory` or below it; both absolute and normal. */
export function isMountWithin(path: string, directory: string): boolean {
	return directory === '/' || path === directory || path.startsWith(`${directory}/`);
}

/** The order in which mounts are made. */
export function byDepth(a: {readonly path: string}, b: {readonly path: string}): number {
	return depthOf(a.path) - depthOf(b.path) || (a.path < b.path ? -1 : 1);
}

function depthOf(path: string): number {
	return path === '/' ? 0 : path.split('/').length - 1;
}
