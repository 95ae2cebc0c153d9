import {lstatSync} from 'node:fs';
import type {SandboxPlan} from '../../sandbox/plan.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';
import {FsWorker, type FsWorkerEvents} from './fs-worker.js';

/** Concurrent workers of one connection, each a process of its own. */
export const MAX_FS_WORKERS = 8;

export interface FsWorkerPoolOptions {
	readonly launch: (plan: SandboxPlan) => Transport | Promise<Transport>;
	readonly onNotification: FsWorkerEvents['onNotification'];
	readonly onClosed: (worker: FsWorker) => void;
}

/** LRU pool of workers: all operations under the same sandbox plan share one. */
export class FsWorkerPool {
	readonly #options: FsWorkerPoolOptions;
	/** Least recently used first. */
	readonly #workers = new Map<string, FsWorker>();
	#isClosed = false;

	constructor(options: FsWorkerPoolOptions) {
		this.#options = options;
	}

	getOrStart(plan: SandboxPlan): FsWorker {
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
		this.#evictIdle();
		const {launch, onNotification, onClosed} = this.#options;
		const start = (): Transport | Promise<Transport> => {
			if (this.#isClosed) throw new Error('the connection is gone');
			return launch(plan);
		};
		return new FsWorker(start, {
			onNotification,
			onClosed: worker => {
				if (this.#workers.get(key) === worker) this.#workers.delete(key);
				onClosed(worker);
			},
		});
	}

	#evictIdle(): void {
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

/** Includes the inode of each mount: a bind mount shows the old directory after that was replaced. */
function keyOf({mounts, network}: SandboxPlan): string {
	return JSON.stringify([network, mounts.map(mount => [mount, mount.kind === 'link' ? '' : identityOf(mount.path)])]);
}

function identityOf(path: string): string {
	const found = lstatSync(path, {throwIfNoEntry: false});
	return found ? `${found.dev}:${found.ino}` : '';
}
