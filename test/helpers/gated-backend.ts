import type {Backend, Child, ChildEvents, SpawnRequest} from '../../src/processes/backends/backend.js';
import {selectBackend} from '../../src/processes/backends/select-backend.js';

/** Backend that delays every spawn until the test calls `open`. */
export class GatedBackend implements Backend {
	readonly name = 'gated';
	/** Children that were started. */
	readonly children: Child[] = [];
	readonly #waiting: (() => void)[] = [];

	get waiting(): number {
		return this.#waiting.length;
	}

	spawn(request: SpawnRequest, events: ChildEvents): Promise<Child> {
		return new Promise((resolve, reject) => {
			this.#waiting.push(() => {
				try {
					const child = selectBackend().spawn(request, events) as Child;
					this.children.push(child);
					resolve(child);
				} catch (error) {
					reject(error);
				}
			});
		});
	}

	/** Performs all delayed spawns. */
	open(): void {
		for (const start of this.#waiting.splice(0)) start();
	}
}
