import type {BytePath} from '../byte-path.js';

/** Changes that wait to be taken; more than that is an overflow. */
const MAX_CHANGES = 16_384;

export type ChangeKind = 'created' | 'modified' | 'removed';

export interface Change {
	readonly path: BytePath;
	readonly kind: ChangeKind;
}

export interface ChangeBatch {
	readonly changes: readonly Change[];
	/** There were changes that are not known: what was seen of the tree before does not hold. */
	readonly overflow: boolean;
	/** Why nothing more will come. */
	readonly ended: string | undefined;
}

/** Changes by path until they are taken; what happens to a path twice is told once. */
export class ChangeLog {
	readonly #kinds = new Map<BytePath, ChangeKind>();
	#overflow = false;
	#ended: string | undefined;

	get isEmpty(): boolean {
		return this.#kinds.size === 0 && !this.#overflow && this.#ended === undefined;
	}

	add(path: BytePath, kind: ChangeKind): void {
		this.#kinds.set(path, merged(this.#kinds.get(path), kind));
		if (this.#kinds.size > MAX_CHANGES) this.overflow();
	}

	/** What was collected goes as well: whoever is told has to look at everything again. */
	overflow(): void {
		this.#kinds.clear();
		this.#overflow = true;
	}

	end(reason: string): void {
		this.#ended ??= reason;
	}

	/** At most so many changes; the end comes with the last of them. */
	take(most: number): ChangeBatch | undefined {
		if (this.isEmpty) return undefined;
		const changes: Change[] = [];
		for (const [path, kind] of this.#kinds) {
			if (changes.length === most) break;
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

function merged(before: ChangeKind | undefined, now: ChangeKind): ChangeKind {
	if (before === 'created' && now === 'modified') return 'created';
	return before === 'removed' && now === 'created' ? 'modified' : now;
}
