import type {KernelExit} from '../backend.js';
import type {Libc} from './libc.js';

const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x1000000;
const P_ALL = 0;
/** Size of `siginfo_t`, and where the process id stands in it. */
const SIGINFO_BYTES = 128;
const SIGINFO_PID = 16;
/** Exits handled before the event loop gets its turn. */
const BATCH = 64;
/** A look without a signal: signals do not reach worker threads, and children keep the process alive. */
const TICK_MS = 1000;

/**
 * Learns of the end of children from the kernel. SIGCHLD only says "look"; `waitid` then names one child that can be
 * reaped, so that the cost follows the number of exits and not the number of children. Only pids that are ours are
 * reaped: children of `node:child_process` in the same program are left to it, unless the program adopts orphans and
 * so has no others.
 */
export class Reaper {
	readonly #libc: Libc;
	readonly #children = new Map<number, (end: KernelExit) => void>();
	readonly #info = new Uint8Array(SIGINFO_BYTES);
	readonly #infoView = new DataView(this.#info.buffer);
	readonly #status: [number] = [0];
	#ticker: NodeJS.Timeout | undefined;
	#sweeping = false;
	#adopting = false;

	constructor(libc: Libc) {
		this.#libc = libc;
		process.on('SIGCHLD', () => this.#sweep());
	}

	watch(pid: number, exited: (end: KernelExit) => void): void {
		if (this.#children.size === 0) this.#ticker = setInterval(() => this.#sweep(), TICK_MS);
		this.#children.set(pid, exited);
	}

	/** From now on every child of this program is reaped. */
	adoptOrphans(): void {
		this.#adopting = true;
	}

	#sweep(): void {
		if (this.#sweeping) return;
		for (let count = 0; count < BATCH; count++) {
			const pid = this.#waitable();
			if (pid === 0) return;
			if (!this.#reap(pid) && !this.#bury(pid)) {
				// Somebody else's child stands in front of the line and stays there: look for ours one by one.
				for (const own of this.#children.keys()) this.#reap(own);
				return;
			}
		}
		this.#sweeping = true;
		setImmediate(() => {
			this.#sweeping = false;
			this.#sweep();
		});
	}

	#waitable(): number {
		this.#infoView.setInt32(SIGINFO_PID, 0, true);
		if (this.#libc.waitid(P_ALL, 0, this.#info, WEXITED | WNOHANG | WNOWAIT) !== 0) return 0;
		return this.#infoView.getInt32(SIGINFO_PID, true);
	}

	/** An orphan nobody waits for. */
	#bury(pid: number): boolean {
		return this.#adopting && this.#libc.waitpid(pid, this.#status, WNOHANG) === pid;
	}

	#reap(pid: number): boolean {
		const exited = this.#children.get(pid);
		if (!exited || this.#libc.waitpid(pid, this.#status, WNOHANG) !== pid) return false;
		this.#children.delete(pid);
		if (this.#children.size === 0) clearInterval(this.#ticker);
		exited(kernelExit(this.#status[0]));
		return true;
	}
}

function kernelExit(status: number): KernelExit {
	const signal = status & 0x7f;
	return {exitCode: signal === 0 ? (status >> 8) & 0xff : 128 + signal, signaled: signal !== 0};
}
