import type {Child} from './backends/backend.js';
import type {ProcessRecord} from './handoff/process-record.js';
import type {EndReason} from './output/output-log.js';
import {type Deadline, ProcessTimers} from './process-timers.js';
import {NOT_RUNNING, type Termination, type TerminationMode} from './termination.js';
import {endOrphansOf} from './tree/end-tree.js';
import {askOrphansOf} from './tree/kill-tree.js';
import type {ProcessRoot} from './tree/subreaper.js';

/** How a process is being ended: the reason, whether it was killed, and its deadlines. */
export class ProcessEnding {
	/** Undefined while nobody has asked for its end. */
	reason: EndReason | undefined;
	isKilled = false;
	readonly #onDeadline: (deadline: Deadline) => void;
	/** Most processes have no deadline. */
	#timers: ProcessTimers | undefined;

	constructor(onDeadline: (deadline: Deadline) => void) {
		this.#onDeadline = onDeadline;
	}

	setDeadline(deadline: Deadline, ms: number): void {
		this.#getTimers().set(deadline, ms);
	}

	stopTimers(): void {
		this.#timers?.stop();
	}

	/** Ends what an exited process has left behind: kills it, or asks it first and sets a deadline. */
	endLeftovers(leader: ProcessRoot, mode: TerminationMode, child?: Child): Termination {
		if (child?.endTree) return {running: false, survivors: child.endTree(mode)};
		this.reason ??= 'terminated';
		if (mode.kind === 'graceful' && askOrphansOf(leader)) {
			this.setDeadline('lastChance', mode.timeoutMs);
			return NOT_RUNNING;
		}
		const survivors = endOrphansOf([leader]);
		// The streams are not kept open for descendants that escaped; their output so far is kept.
		child?.drainAndClose();
		return {running: false, survivors};
	}

	handOver(): Pick<ProcessRecord, 'endReason' | 'isKilled' | 'timers'> {
		return {endReason: this.reason, isKilled: this.isKilled, timers: this.#timers?.handOver() ?? []};
	}

	/** Goes on with the ending of another program; its timers only if the process is not over. */
	adopt({endReason, isKilled, timers, phase}: ProcessRecord): void {
		this.reason = endReason;
		this.isKilled = isKilled;
		if (phase.kind !== 'closed' && timers.length > 0) this.#getTimers().adopt(timers);
	}

	#getTimers(): ProcessTimers {
		this.#timers ??= new ProcessTimers(this.#onDeadline);
		return this.#timers;
	}
}
