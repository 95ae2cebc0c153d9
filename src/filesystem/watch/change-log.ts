import type {BytePath} from '../byte-path.js';

/** Buffered changes; beyond it they are replaced by an overflow. */
const MAX_CHANGES = 16_384;

export type ChangeKind = 'created' | 'modified' | 'removed';

export interface Change {
	readonly path: BytePath;
	readonly kind: ChangeKind;
}

export interface ChangeBatch {
	readonly changes: readonly Change[];
	/** Changes were lost: the consumer has to read the tree again. */
	readonly overflow: boolean;
	/** Reason why the watch has ended, if it has. */
	readonly ended: string | undefined;
}

/** Buffer of changes by path; several changes of one path are merged. */
export class ChangeLog {
	readonly #kinds = new Map<BytePath, ChangeKind>();
	#overflow = false;
	#ended: string | undefined;

	get isEmpty(): boolean {
		return this.#kinds.size === 0 && !this.#overflow && this.#ended === undefined;
	}

	add(path: BytePath, kind: ChangeKind): void {
		this.#kinds.set(path, mergeKinds(this.#kinds.get(path), kind));
		if (this.#kinds.size > MAX_CHANGES) this.overflow();
	}

	/** Drops the buffered changes, too: the consumer has to read the whole tree again. */
	overflow(): void {
		this.#kinds.clear();
		this.#overflow = true;
	}

	end(reason: string): void {
		this.#ended ??= reason;
	}

	/** Removes and returns up to `maxChanges` changes; `ended` comes with the last of them. */
	take(maxChanges: number): ChangeBatch | undefined {
		if (this.isEmpty) return undefined;
		const changes: Change[] = [];
		for (const [path, kind] of this.#kinds) {
			if (changes.length === maxChanges) break;
			changes.push({path, kind});
			this.#kinds.delete(path);
		}
		const overflow = this.#overflow;
		this.#overflow = false;
		const ended = this.#kinds.size === 0 ? this.#ended : undefined;
		if (this.#kinds.size === 0) this.#ended = undefined;
		return {changes, overflow, ended};
	}
}

function mergeKinds(before: ChangeKind | undefined, now: ChangeKind): ChangeKind {
	if (before === 'created' && now === 'modified') return 'created';
	return before === 'removed' && now === 'created' ? 'modified' : now;
}
