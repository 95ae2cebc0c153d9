import type {ItemTable} from '../store/item-table.js';
import type {ItemQueue} from '../store/job-store.js';

/** Numbers of items, the smallest first out (binary heap). */
class SmallestFirst {
	readonly #heap: number[] = [];

	get size(): number {
		return this.#heap.length;
	}

	get smallest(): number | undefined {
		return this.#heap[0];
	}

	push(item: number): void {
		const heap = this.#heap;
		let at = heap.push(item) - 1;
		for (let parent = (at - 1) >> 1; at > 0 && heap[parent]! > item; parent = (at - 1) >> 1) {
			heap[at] = heap[parent]!;
			at = parent;
		}
		heap[at] = item;
	}

	shift(): number | undefined {
		const heap = this.#heap;
		const first = heap[0];
		const last = heap.pop();
		if (last === undefined || heap.length === 0) return first;
		let at = 0;
		for (let child = 1; child < heap.length; child = 2 * at + 1) {
			if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
			if (heap[child]! >= last) break;
			heap[at] = heap[child]!;
			at = child;
		}
		heap[at] = last;
		return first;
	}
}

/** Items that wait for their turn, in row order; those that came back come in their place. */
export class PendingItems implements ItemQueue {
	readonly #table: ItemTable;
	readonly #returned = new SmallestFirst();
	/**
	 * Attempts of an earlier runner, until they are given back. The table calls such an item pending as soon as its record
	 * is under way to the disk, when the one who settles the old attempt is not done with it.
	 */
	readonly #inDoubt: Set<number>;
	#cursor = 0;

	constructor(table: ItemTable) {
		this.#table = table;
		this.#inDoubt = new Set(table.itemsIn('running'));
	}

	/** The next one, which is the caller's from now on. */
	take(): number | undefined {
		this.#skipOthers();
		const returned = this.#returned.smallest;
		if (returned !== undefined && returned < this.#cursor) return this.#returned.shift();
		return this.#cursor < this.#table.total ? this.#cursor++ : undefined;
	}

	/** An item that was taken waits again. */
	giveBack(item: number): void {
		this.#inDoubt.delete(item);
		if (item < this.#cursor) this.#returned.push(item);
	}

	/** All of them are here already. */
	want(): void {}

	#skipOthers(): void {
		while (this.#cursor < this.#table.total && !this.#isFree(this.#cursor)) this.#cursor++;
	}

	#isFree(item: number): boolean {
		return this.#table.isPending(item) && !this.#inDoubt.has(item);
	}
}
