import {constants} from 'node:os';
import {isatty} from 'node:tty';
import {EXIT, exitCodeOfSignal} from '../../../exit-codes.js';

const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
const STDIN = 0;
/** How long a process that is being killed may take before we leave without it. */
const FORCE_MS = 2000;

export type PassedOn = (typeof PASSED_ON)[number];

export interface SignalTarget {
	/** Whether anything can be told to it now. */
	readonly isReachable: boolean;
	signal(name: PassedOn): void;
	kill(): void;
}

/** We go without having heard of the end of the process. */
export interface Left {
	readonly kind: 'left';
	/** Undefined when nothing had been started: the code is that of the signal then. */
	readonly exitCode: number | undefined;
}

type State =
	| {readonly kind: 'connecting'}
	| {readonly kind: 'starting'; readonly early: PassedOn[]}
	| {readonly kind: 'attached'; readonly target: SignalTarget};

/**
 * Passes the signals we get on to the process. The second one kills it; when that does not help, or cannot be told to
 * anybody, and with the third one, we leave.
 */
export class SignalRelay {
	readonly left: Promise<Left>;
	#state: State = {kind: 'connecting'};
	#count = 0;
	#wasInterrupted = false;
	#leave!: (left: Left) => void;

	constructor() {
		this.left = new Promise(resolve => {
			this.#leave = resolve;
		});
		for (const name of PASSED_ON) process.on(name, () => this.#heard(name));
	}

	/** From now on there may be a process: the first signal is kept for it. */
	starting(): void {
		this.#state = {kind: 'starting', early: []};
	}

	passTo(target: SignalTarget): void {
		const early = this.#state.kind === 'starting' ? this.#state.early : [];
		this.#state = {kind: 'attached', target};
		for (const name of early) target.signal(name);
	}

	/**
	 * The code to exit with. A shell stops its own script or loop at Ctrl-C only when the program it waits for was ended by
	 * the signal, so that is how we end, too, when somebody typed it and it ended the process.
	 */
	endLike(exitCode: number): number {
		if (this.#wasInterrupted && exitCode === EXIT.interrupted && isatty(STDIN)) {
			process.removeAllListeners('SIGINT');
			process.kill(process.pid, 'SIGINT');
		}
		return exitCode;
	}

	#heard(name: PassedOn): void {
		this.#count++;
		this.#wasInterrupted ||= name === 'SIGINT';
		const state = this.#state;
		if (state.kind === 'connecting') {
			this.#leave({kind: 'left', exitCode: exitCodeOfSignal(constants.signals[name])});
		} else if (this.#count === 1) {
			if (state.kind === 'starting') state.early.push(name);
			else state.target.signal(name);
		} else if (this.#count > 2 || state.kind === 'starting' || !state.target.isReachable) {
			this.#leave({kind: 'left', exitCode: undefined});
		} else {
			state.target.kill();
			setTimeout(() => this.#leave({kind: 'left', exitCode: undefined}), FORCE_MS);
		}
	}
}
