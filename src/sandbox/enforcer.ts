import type {SandboxedCommand, SandboxPlan, WrappedCommand} from './plan.js';

/** Ways to enforce a plan on Linux, best first. */
export const ENFORCER_NAMES = ['bubblewrap', 'namespaces', 'landlock'] as const;
export type EnforcerName = (typeof ENFORCER_NAMES)[number];

/** The one to use, or the first that works. */
export const ENFORCER_CHOICES = ['auto', ...ENFORCER_NAMES] as const;
export type EnforcerChoice = (typeof ENFORCER_CHOICES)[number];

/** One way to enforce a plan. */
export interface Enforcer {
	readonly name: EnforcerName;
	/** Words for people: the program or the mechanism, once it is known to work. */
	describe(): string;
	/** True if a trial run succeeded or, before it, if one probably will. */
	isLikely(): boolean;
	/** The reason why it does not work on this machine, found by a trial run on first use; undefined if it works. */
	findProblem(): string | undefined;
	/** Wraps a command, on a machine where it works. Throws for a plan it cannot enforce. */
	wrap(plan: SandboxPlan, command: SandboxedCommand): WrappedCommand;
}

/** A failed trial is repeated after this time: the machine may have been fixed. */
const RETRY_AFTER_MS = 10_000;

/** The outcome of a trial run, which is kept. */
export class Trial {
	readonly #run: () => string | undefined;
	#outcome: {readonly problem: string | undefined; readonly at: number} | undefined;

	/** `run` returns the reason of a failure. */
	constructor(run: () => string | undefined) {
		this.#run = run;
	}

	/** False before the first run. */
	get isDone(): boolean {
		return this.#outcome !== undefined;
	}

	findProblem(): string | undefined {
		if (!this.#outcome || this.#isOutdated(this.#outcome)) {
			const at = performance.now();
			this.#outcome = {problem: this.#run(), at};
		}
		return this.#outcome.problem;
	}

	#isOutdated({problem, at}: {readonly problem: string | undefined; readonly at: number}): boolean {
		return problem !== undefined && performance.now() - at > RETRY_AFTER_MS;
	}
}
