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
	readonly #includesMarked: boolean;
	readonly #known = new Set<number>();
	/** Children that are to outlive this process. */
	readonly #spared = new Set<number>();
	#timer: NodeJS.Timeout | undefined;

	/** `includesMarked` is for marks that a process may change later: those that carry one are told, too. */
	constructor(watchdog: Watchdog, {includesMarked}: {readonly includesMarked: boolean}) {
		this.#watchdog = watchdog;
		this.#includesMarked = includesMarked;
	}

	/** Call when a child was started. */
	arm(): void {
		this.#timer ??= setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref();
	}

	/** Looks at once, on behalf of a program that this one has taken the place of. */
	begin(): void {
		this.arm();
		this.#sweep();
	}

	/** Never tells this child, which was started here and is to outlive this process, until `unspare`. */
	spare(pid: number): void {
		this.#spared.add(pid);
	}

	/** The child is gone, and its process id may become that of another process. */
	unspare(pid: number): void {
		this.#spared.delete(pid);
	}

	#sweep(): void {
		this.#watchdog.wake();
		const children = new Set(listChildren(process.pid));
		children.delete(this.#watchdog.pid ?? 0);
		for (const pid of this.#spared) children.delete(pid);
		for (const pid of this.#known) {
			if (children.has(pid)) continue;
			this.#known.delete(pid);
			this.#watchdog.forget(pid);
		}
		for (const pid of children) {
			if (this.#known.has(pid)) continue;
			this.#known.add(pid);
			const isMarked = isOwnChild(pid) || !hasUnknownTag(pid);
			if (!isMarked || this.#includesMarked) this.#tell(pid, isMarked);
		}
		if (children.size > 0) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
	}

	#tell(pid: number, isMarked: boolean): void {
		const info = readProcessInfo(pid);
		if (info) this.#watchdog.tell(pid, info.startTime, {isMarked});
	}
}
