import {dirname} from 'node:path';
import {isMountWithin, type SandboxPlan} from './plan.js';

/** Directories and files that are remembered one by one; above it, those that contain them. */
const MAX_WRITTEN_ROOTS = 10_000;

/**
 * Directories and files that sandboxes of this program could write. A symbolic link in one of them may have been put there
 * by a sandboxed process, so that the next policy, whose path leads through it, would grant what no policy ever named.
 */
export class WrittenRoots {
	/** False for a directory of which only an unknown part could be written. */
	readonly #roots = new Map<string, boolean>();

	add({mounts}: SandboxPlan): void {
		for (const {kind, path} of mounts) if (kind === 'write') this.#roots.set(path, true);
		this.#generalize();
	}

	/** True if a sandboxed process that could not write to `target` may have made the link. */
	mayHaveLinked(link: string, target: string): boolean {
		for (const [root, isWhole] of this.#roots) {
			if (isMountWithin(link, root) && !(isWhole && isMountWithin(target, root))) return true;
		}
		return false;
	}

	/** For a program that takes the place of this one. */
	handOver(): readonly [path: string, isWhole: boolean][] {
		return [...this.#roots];
	}

	adopt(roots: Iterable<readonly [path: string, isWhole: boolean]>): void {
		for (const [path, isWhole] of roots) this.#roots.set(path, isWhole);
		this.#generalize();
	}

	/** Nothing is forgotten: a directory stands for all that is below it. */
	#generalize(): void {
		while (this.#roots.size > MAX_WRITTEN_ROOTS) {
			const parents = new Set([...this.#roots.keys()].map(path => dirname(path)));
			this.#roots.clear();
			for (const path of parents) this.#roots.set(path, false);
		}
	}
}

/** Paths that the sandboxes of this program could write, whichever server or environment in it they belong to. */
export const WRITTEN_ROOTS = new WrittenRoots();
