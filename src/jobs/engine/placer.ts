import {toText} from '../input/template.js';
import type {Placement} from '../job-description.js';
import type {ItemQueue, StoredItem} from '../store/job-store.js';
import type {PooledExecutor} from './executor-pool.js';

/** Items of `column` placement that wait for busy executors; rows beyond them are not looked at. */
const MAX_LOOK_AHEAD = 1024;

/** Next step of a job: an item for an executor, an item that no executor can take, or nothing for now. */
export type Placed =
	| {readonly kind: 'run'; readonly item: number; readonly on: PooledExecutor}
	| {readonly kind: 'impossible'; readonly item: number; readonly error: string};

/** Chooses the next item and its executor. */
export interface Placer {
	/** Undefined while every executor that could take one is busy, or nothing waits. */
	next(): Placed | undefined;
}

export interface PlacerOptions {
	readonly pending: ItemQueue;
	readonly executors: readonly PooledExecutor[];
	readonly readItem: (item: number) => Promise<StoredItem>;
	/** Called when `next` may have something new. */
	readonly wake: () => void;
	readonly fail: (error: unknown) => void;
}

export function createPlacer(placement: Placement, options: PlacerOptions): Placer {
	switch (placement.kind) {
		case 'least-busy':
			return new AnyPlacer(options, chooseLeastBusy);
		case 'round-robin':
			return new AnyPlacer(options, roundRobin());
		case 'column':
			return new ColumnPlacer(placement.column, options);
	}
}

type Choose = (executors: readonly PooledExecutor[]) => PooledExecutor | undefined;

/** Items in row order, each on the executor that is chosen for it. */
class AnyPlacer implements Placer {
	readonly #options: PlacerOptions;
	readonly #choose: Choose;

	constructor(options: PlacerOptions, choose: Choose) {
		this.#options = options;
		this.#choose = choose;
	}

	next(): Placed | undefined {
		const on = this.#choose(this.#options.executors);
		const item = on && this.#options.pending.take();
		return item === undefined ? undefined : {kind: 'run', item, on: on!};
	}
}

/** The one with the largest share of free slots; of equals the first. */
function chooseLeastBusy(executors: readonly PooledExecutor[]): PooledExecutor | undefined {
	let best: PooledExecutor | undefined;
	for (const each of executors) if (each.isFree && (!best || loadOf(each) < loadOf(best))) best = each;
	return best;
}

function loadOf({running, executor}: PooledExecutor): number {
	return running / executor.slots;
}

function roundRobin(): Choose {
	let last = -1;
	return executors => {
		for (let step = 1; step <= executors.length; step++) {
			const index = (last + step) % executors.length;
			if (!executors[index]!.isFree) continue;
			last = index;
			return executors[index];
		}
		return undefined;
	};
}

/** Items on the executors that their rows name. Rows are read ahead, so that a busy executor does not hold back others. */
class ColumnPlacer implements Placer {
	readonly #column: string;
	readonly #options: PlacerOptions;
	readonly #waiting: Map<string, {readonly on: PooledExecutor; readonly items: number[]}>;
	readonly #impossible: Placed[] = [];
	#waitingCount = 0;
	#isReading = false;

	constructor(column: string, options: PlacerOptions) {
		this.#column = column;
		this.#options = options;
		this.#waiting = new Map(options.executors.map(on => [on.executor.name, {on, items: []}]));
	}

	next(): Placed | undefined {
		if (this.#waitingCount < MAX_LOOK_AHEAD) void this.#readAhead();
		const impossible = this.#impossible.shift();
		if (impossible) return impossible;
		for (const {on, items} of this.#waiting.values()) {
			if (items.length === 0 || !on.isFree) continue;
			this.#waitingCount--;
			return {kind: 'run', item: items.shift()!, on};
		}
		return undefined;
	}

	async #readAhead(): Promise<void> {
		if (this.#isReading) return;
		this.#isReading = true;
		let found = false;
		try {
			while (this.#waitingCount < MAX_LOOK_AHEAD) {
				const item = this.#options.pending.take();
				if (item === undefined) break;
				this.#sort(item, toText((await this.#options.readItem(item)).row[this.#column]));
				found = true;
			}
		} catch (error) {
			this.#options.fail(error);
		} finally {
			this.#isReading = false;
		}
		if (found) this.#options.wake();
	}

	#sort(item: number, name: string): void {
		const place = this.#waiting.get(name);
		if (!place) {
			this.#impossible.push({kind: 'impossible', item, error: `there is no executor named ${name}`});
			return;
		}
		place.items.push(item);
		this.#waitingCount++;
	}
}
