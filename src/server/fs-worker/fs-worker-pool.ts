import {lstatSync} from 'node:fs';
import type {SandboxPlan} from '../../sandbox/plan.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';
import {FsWorker, type FsWorkerEvents} from './fs-worker.js';

/** Workers of one owner at a time, each a program of its own. */
export const MAX_FS_WORKERS = 8;

export interface FsWorkerPoolOptions {
	readonly launch: (plan: SandboxPlan) => Transport | Promise<Transport>;
	readonly notified: FsWorkerEvents['notified'];
	readonly closed: (worker: FsWorker) => void;
}

/** One worker for all operations under the same plan. */
export class FsWorkerPool {
	readonly #options: FsWorkerPoolOptions;
	/** The one used last stands last. */
	readonly #workers = new Map<string, FsWorker>();
	#isClosed = false;

	constructor(options: FsWorkerPoolOptions) {
		this.#options = options;
	}

	of(plan: SandboxPlan): FsWorker {
		const key = keyOf(plan);
		const worker = this.#workers.get(key) ?? this.#start(key, plan);
		this.#workers.delete(key);
		this.#workers.set(key, worker);
		return worker;
	}

	close(): void {
		this.#isClosed = true;
		for (const worker of this.#workers.values()) worker.close();
	}

	#start(key: string, plan: SandboxPlan): FsWorker {
		this.#makeRoom();
		const {launch, notified, closed} = this.#options;
		const start = (): Transport | Promise<Transport> => {
			if (this.#isClosed) throw new Error('the connection is gone');
			return launch(plan);
		};
		return new FsWorker(start, {
			notified,
			closed: worker => {
				if (this.#workers.get(key) === worker) this.#workers.delete(key);
				closed(worker);
			},
		});
	}

	#makeRoom(): void {
		if (this.#workers.size < MAX_FS_WORKERS) return;
		const idle = [...this.#workers.values()].find(({isIdle}) => isIdle);
		if (!idle) {
			throw new LongarmError('RESOURCES_EXHAUSTED', {
				message: `at most ${MAX_FS_WORKERS} fs sandboxes may be in use per connection`,
			});
		}
		idle.close();
	}
}

/** A view is of the files that were there when it was made: a directory that was replaced needs another. */
function keyOf({mounts, network}: SandboxPlan): string {
	return JSON.stringify([network, mounts.map(mount => [mount, mount.kind === 'link' ? '' : identityOf(mount.path)])]);
}

function identityOf(path: string): string {
	const found = lstatSync(path, {throwIfNoEntry: false});
	return found ? `${found.dev}:${found.ino}` : '';
}
