import {lstatSync} from 'node:fs';
import type {SandboxPlan} from '../../sandbox/plan.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';
import {Twin, type TwinEvents} from './fs-worker.js';

/** Twins of one owner at a time, each a program of its own. */
export const MAX_TWINS = 8;

export interface TwinsOptions {
	readonly launch: (plan: SandboxPlan) => Transport | Promise<Transport>;
	readonly notified: TwinEvents['notified'];
	readonly closed: (twin: Twin) => void;
}

/** One twin for all operations under the same plan. */
export class Twins {
	readonly #options: TwinsOptions;
	/** The one used last stands last. */
	readonly #twins = new Map<string, Twin>();
	#closed = false;

	constructor(options: TwinsOptions) {
		this.#options = options;
	}

	of(plan: SandboxPlan): Twin {
		const key = keyOf(plan);
		const twin = this.#twins.get(key) ?? this.#start(key, plan);
		this.#twins.delete(key);
		this.#twins.set(key, twin);
		return twin;
	}

	close(): void {
		this.#closed = true;
		for (const twin of this.#twins.values()) twin.close();
	}

	#start(key: string, plan: SandboxPlan): Twin {
		this.#makeRoom();
		const {launch, notified, closed} = this.#options;
		const start = (): Transport | Promise<Transport> => {
			if (this.#closed) throw new Error('the connection is gone');
			return launch(plan);
		};
		return new Twin(start, {
			notified,
			closed: twin => {
				if (this.#twins.get(key) === twin) this.#twins.delete(key);
				closed(twin);
			},
		});
	}

	#makeRoom(): void {
		if (this.#twins.size < MAX_TWINS) return;
		const idle = [...this.#twins.values()].find(({isIdle}) => isIdle);
		if (!idle) {
			throw new LongarmError('RESOURCES_EXHAUSTED', {
				message: `at most ${MAX_TWINS} fs sandboxes may be in use per connection`,
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
