import {fromKernelTime, toKernelTime} from '../shared/node/kernel-clock.js';
import {MAX_TIMER_MS} from '../shared/units.js';

/** Meaning of a time that is over: the process has run for too long, or was given a last chance to end. */
export type Deadline = 'timeLimit' | 'lastChance';

/** A timer for another program, by the kernel's clock. */
export interface TimerState {
	readonly deadline: Deadline;
	readonly at: number;
}

/** Deadlines of one process. They do not keep the program alive. */
export class ProcessTimers {
	readonly #act: (deadline: Deadline) => void;
	readonly #timers: {readonly deadline: Deadline; readonly at: number; readonly timer: NodeJS.Timeout}[] = [];

	constructor(act: (deadline: Deadline) => void) {
		this.#act = act;
	}

	set(deadline: Deadline, ms: number): void {
		const timer = setTimeout(() => this.#act(deadline), Math.min(ms, MAX_TIMER_MS)).unref();
		this.#timers.push({deadline, at: performance.now() + ms, timer});
	}

	stop(): void {
		for (const {timer} of this.#timers.splice(0)) clearTimeout(timer);
	}

	/** Deadlines that are still to come. */
	handOver(): TimerState[] {
		const now = performance.now();
		return this.#timers.filter(({at}) => at > now).map(({deadline, at}) => ({deadline, at: toKernelTime(at)}));
	}

	adopt(states: readonly TimerState[]): void {
		for (const {deadline, at} of states) this.set(deadline, Math.max(0, fromKernelTime(at) - performance.now()));
	}
}
