import {constants} from 'node:os';
import {isatty} from 'node:tty';
import {Deferred} from '../../../../shared/async/deferred.js';
import {EXIT, exitCodeOfSignal} from '../../../exit-codes.js';

const RELAYED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
const STDIN = 0;
/** Time limit for the exit of a process that is being killed, after which we leave without it. */
const FORCE_MS = 2000;

/** Time that a process has to end by itself after its terminal is gone. */
const HANGUP_MS = 5000;

export type RelayedSignal = (typeof RELAYED_SIGNALS)[number];

export interface SignalTarget {
	/** Whether it can be signalled now. */
	readonly isReachable: boolean;
	/** Whether somebody waits for it at a terminal however long it cannot be reached: one signal ends that. */
	readonly isWaitedFor: boolean;
	signal(name: RelayedSignal): void;
	kill(): void;
}

/** We leave before the exit of the process is known. */
export interface Left {
	readonly kind: 'left';
	/** Undefined when nothing had been started: the code is that of the signal then. */
	readonly exitCode: number | undefined;
}

type State =
	| {readonly kind: 'connecting'}
	| {readonly kind: 'starting'; readonly early: RelayedSignal[]}
	| {readonly kind: 'attached'; readonly target: SignalTarget};

/**
 * Relays the signals we get to the process. The second one kills it; when that does not help or there is no connection,
 * and with the third one, we leave.
 */
export class SignalRelay {
	#state: State = {kind: 'connecting'};
	#count = 0;
	#wasInterrupted = false;
	readonly #left = new Deferred<Left>();

	constructor() {
		for (const name of RELAYED_SIGNALS) process.on(name, () => this.#onSignal(name));
	}

	/** Settles when we leave without the exit of the process. */
	get left(): Promise<Left> {
		return this.#left.promise;
	}

	/** Keeps the first signal from now on for the process that is being started. */
	expectProcess(): void {
		this.#state = {kind: 'starting', early: []};
	}

	passTo(target: SignalTarget): void {
		const early = this.#state.kind === 'starting' ? this.#state.early : [];
		this.#state = {kind: 'attached', target};
		for (const name of early) this.#pass(name, target);
	}

	/**
	 * The code to exit with. A shell stops its own script or loop at Ctrl-C only when the program it waits for was ended by
	 * the signal, so that is how we end, too, when Ctrl-C was typed and ended the process.
	 */
	endLike(exitCode: number): number {
		if (this.#wasInterrupted && exitCode === EXIT.interrupted && isatty(STDIN)) {
			process.removeAllListeners('SIGINT');
			process.kill(process.pid, 'SIGINT');
		}
		return exitCode;
	}

	#onSignal(name: RelayedSignal): void {
		this.#count++;
		this.#wasInterrupted ||= name === 'SIGINT';
		const state = this.#state;
		if (state.kind === 'connecting') {
			this.#left.resolve({kind: 'left', exitCode: exitCodeOfSignal(constants.signals[name])});
		} else if (this.#count === 1 && !isGivenUp(state)) {
			if (state.kind === 'starting') state.early.push(name);
			else this.#pass(name, state.target);
		} else if (this.#count > 2 || state.kind === 'starting' || !state.target.isReachable) {
			this.#left.resolve({kind: 'left', exitCode: undefined});
		} else {
			this.#kill(state.target);
		}
	}

	/** Our terminal is gone with SIGHUP: what runs on that of a shell over there is not left behind. */
	#pass(name: RelayedSignal, target: SignalTarget): void {
		target.signal(name);
		if (name === 'SIGHUP' && target.isWaitedFor) setTimeout(() => this.#kill(target), HANGUP_MS);
	}

	#kill(target: SignalTarget): void {
		target.kill();
		setTimeout(() => this.#left.resolve({kind: 'left', exitCode: undefined}), FORCE_MS);
	}
}

function isGivenUp(state: State): boolean {
	return state.kind === 'attached' && state.target.isWaitedFor && !state.target.isReachable;
}
