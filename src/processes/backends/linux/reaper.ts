// Linux only: waitid and the layout of siginfo_t.
import type {KernelExit} from '../backend.js';
import type {Libc} from './libc.js';

const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x1000000;
const P_ALL = 0;
/** Size of `siginfo_t`, and the offset of the pid in it. */
const SIGINFO_BYTES = 128;
const SIGINFO_PID = 16;
/** Exits handled per tick of the event loop. */
const MAX_EXITS_PER_TICK = 64;
/** Exits of orphans handled per tick: a chain of processes that fork and exit must not fill the process table with zombies. */
const MAX_ORPHAN_EXITS_PER_TICK = 1024;
/** Polls without SIGCHLD, which does not reach worker threads; the timer also keeps the event loop alive for children. */
const POLL_INTERVAL_MS = 1000;

/**
 * Reaps children. After SIGCHLD, `waitid` names one child that can be reaped, so the cost follows the number of exits and
 * not the number of children. Only watched pids are reaped: children of `node:child_process` in the same process are
 * left to it, unless the process is a subreaper and so has no others.
 */
export class Reaper {
	readonly #libc: Libc;
	readonly #children = new Map<number, (exit: KernelExit) => void>();
	/** Exits of held children. */
	readonly #held = new Map<number, KernelExit>();
	readonly #info = new Uint8Array(SIGINFO_BYTES);
	readonly #infoView = new DataView(this.#info.buffer);
	readonly #status: [number] = [0];
	#pollTimer: NodeJS.Timeout | undefined;
	#isSweepScheduled = false;
	#onOrphanExit: ((pid: number) => void) | undefined;

	constructor(libc: Libc) {
		this.#libc = libc;
		process.on('SIGCHLD', () => this.sweep());
	}

	/** Keeps the exit of a child for the call of `watch` that has to follow. */
	hold(pid: number): void {
		this.watch(pid, exit => this.#held.set(pid, exit));
	}

	/** Calls back with the exit, later. */
	watch(pid: number, onExit: (exit: KernelExit) => void): void {
		const exit = this.#held.get(pid);
		if (exit) {
			this.#held.delete(pid);
			setImmediate(() => onExit(exit));
			return;
		}
		if (this.#children.size === 0) this.#pollTimer = setInterval(() => this.sweep(), POLL_INTERVAL_MS);
		this.#children.set(pid, onExit);
	}

	/** From now on every child of this process is reaped; calls back with those that are not watched, adopted orphans. */
	reapOrphans(onExit: (pid: number) => void): void {
		this.#onOrphanExit = onExit;
	}

	/** Reaps what has exited; call for children that may have exited before there was a handler for SIGCHLD. */
	sweep(): void {
		if (this.#isSweepScheduled) return;
		let [exits, orphans] = [0, 0];
		while (exits < MAX_EXITS_PER_TICK && orphans < MAX_ORPHAN_EXITS_PER_TICK) {
			const pid = this.#findWaitable();
			if (pid === 0) return;
			if (this.#reap(pid)) exits++;
			else if (this.reapOrphan(pid)) orphans++;
			else {
				// The first waitable child is not ours and stays first: try ours one by one.
				for (const watched of this.#children.keys()) this.#reap(watched);
				return;
			}
		}
		this.#isSweepScheduled = true;
		setImmediate(() => {
			this.#isSweepScheduled = false;
			this.sweep();
		});
	}

	#findWaitable(): number {
		this.#infoView.setInt32(SIGINFO_PID, 0, true);
		if (this.#libc.waitid(P_ALL, 0, this.#info, WEXITED | WNOHANG | WNOWAIT) !== 0) return 0;
		return this.#infoView.getInt32(SIGINFO_PID, true);
	}

	/** False for a child that runs, or that is not an orphan. */
	reapOrphan(pid: number): boolean {
		if (!this.#onOrphanExit || this.#children.has(pid) || this.#libc.waitpid(pid, this.#status, WNOHANG) !== pid)
			return false;
		this.#onOrphanExit(pid);
		return true;
	}

	#reap(pid: number): boolean {
		const onExit = this.#children.get(pid);
		if (!onExit || this.#libc.waitpid(pid, this.#status, WNOHANG) !== pid) return false;
		this.#children.delete(pid);
		if (this.#children.size === 0) clearInterval(this.#pollTimer);
		onExit(decodeStatus(this.#status[0]));
		return true;
	}
}

function decodeStatus(status: number): KernelExit {
	const signal = status & 0x7f;
	return {exitCode: signal === 0 ? (status >> 8) & 0xff : 128 + signal, isSignaled: signal !== 0};
}
