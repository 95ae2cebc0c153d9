import type {Backend, Child, ChildEvents, SpawnRequest} from '../../src/processes/backends/backend.js';
import {selectBackend} from '../../src/processes/backends/select-backend.js';

/** Starts real children, each only when the test lets it: a start that takes its time. */
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

	/** Lets everybody in who waits. */
	open(): void {
		for (const start of this.#waiting.splice(0)) start();
	}
}
