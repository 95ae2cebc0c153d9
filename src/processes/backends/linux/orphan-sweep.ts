// Linux only: adopted orphans of a subreaper.
import {listChildren, readProcessInfo} from '../../tree/process-tree.js';
import {hasUnknownTag, isOwnChild} from '../../tree/subreaper.js';
import type {Watchdog} from './watchdog.js';

const SWEEP_INTERVAL_MS = 1000;

/**
 * Looks for children of this process that no mark tells from others, so that the watchdog knows them by pid and start
 * time before this process is killed: the kernel then gives them another parent, and no trace is left. Runs only while
 * there are children, and reads each of them once.
 */
export class OrphanSweep {
	readonly #watchdog: Watchdog;
	readonly #includesOwn: boolean;
	readonly #known = new Set<number>();
	#timer: NodeJS.Timeout | undefined;

	/** `includesOwn` is for marks that children may take off: those started here are told, too. */
	constructor(watchdog: Watchdog, {includesOwn}: {readonly includesOwn: boolean}) {
		this.#watchdog = watchdog;
		this.#includesOwn = includesOwn;
	}

	/** Call when a child was started. */
	arm(): void {
		this.#timer ??= setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref();
	}

	#sweep(): void {
		this.#watchdog.wake();
		const children = new Set(listChildren(process.pid));
		children.delete(this.#watchdog.pid ?? 0);
		for (const pid of this.#known) {
			if (children.has(pid)) continue;
			this.#known.delete(pid);
			this.#watchdog.forget(pid);
		}
		for (const pid of children) {
			if (this.#known.has(pid)) continue;
			this.#known.add(pid);
			if (isOwnChild(pid) ? this.#includesOwn : hasUnknownTag(pid)) this.#tell(pid);
		}
		if (children.size > 0) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
	}

	#tell(pid: number): void {
		const info = readProcessInfo(pid);
		if (info) this.#watchdog.tell(pid, info.startTime);
	}
}
