/** Owner of places: a group, such as a tenant, and one member of it, such as a token. */
export interface PlaceOwner {
	readonly group: string;
	readonly member: string;
}

interface Waiting {
	readonly owner: PlaceOwner;
	readonly start: () => void;
}

/**
 * Bounded number of places for work, shared by groups and their members. Who has places gets another one only while more are left than
 * they have: of the whole for a group, of half of it for a member. So nobody takes the last ones, and newcomers find some.
 */
export class FairPlaces {
	readonly #max: number;
	readonly #held = new Map<string, number>();
	readonly #waiting = new Set<Waiting>();
	#total = 0;

	constructor(max: number) {
		this.#max = max;
	}

	/** Runs the work if there is a place for it; undefined if there is none. */
	tryRun<T>(owner: PlaceOwner, work: () => Promise<T>): Promise<T> | undefined {
		if (!this.#hasPlace(owner)) return undefined;
		this.#count(owner, 1);
		return this.#work(owner, work);
	}

	/** Runs the work at once, or when there is a place for it; those with the fewest places come first. */
	async run<T>(owner: PlaceOwner, work: () => Promise<T>): Promise<T> {
		if (this.#hasPlace(owner)) this.#count(owner, 1);
		else await new Promise<void>(resolve => this.#waiting.add({owner, start: resolve}));
		return this.#work(owner, work);
	}

	async #work<T>(owner: PlaceOwner, work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} finally {
			this.#count(owner, -1);
			this.#startNext();
		}
	}

	#startNext(): void {
		for (;;) {
			let next: Waiting | undefined;
			for (const each of this.#waiting) {
				if (this.#hasPlace(each.owner) && (!next || this.#comesBefore(each.owner, next.owner))) next = each;
			}
			if (!next) return;
			this.#waiting.delete(next);
			this.#count(next.owner, 1);
			next.start();
		}
	}

	#hasPlace(owner: PlaceOwner): boolean {
		const ofGroup = this.#heldBy(groupKey(owner));
		const ofMember = this.#heldBy(memberKey(owner));
		return hasShare(ofGroup, this.#total, this.#max) && hasShare(ofMember, ofGroup, Math.ceil(this.#max / 2));
	}

	#comesBefore(one: PlaceOwner, other: PlaceOwner): boolean {
		const [ofOne, ofOther] = [this.#heldBy(groupKey(one)), this.#heldBy(groupKey(other))];
		return ofOne < ofOther || (ofOne === ofOther && this.#heldBy(memberKey(one)) < this.#heldBy(memberKey(other)));
	}

	#heldBy(key: string): number {
		return this.#held.get(key) ?? 0;
	}

	#count(owner: PlaceOwner, change: 1 | -1): void {
		this.#total += change;
		for (const key of [groupKey(owner), memberKey(owner)]) {
			const held = this.#heldBy(key) + change;
			if (held > 0) this.#held.set(key, held);
			else this.#held.delete(key);
		}
	}
}

/** Whether one who has `own` of a number of which `all` are taken may have one more: while more are left than that. */
export function hasShare(own: number, all: number, max: number): boolean {
	return own < max - all;
}

function groupKey({group}: PlaceOwner): string {
	return JSON.stringify([group]);
}

function memberKey({group, member}: PlaceOwner): string {
	return JSON.stringify([group, member]);
}
