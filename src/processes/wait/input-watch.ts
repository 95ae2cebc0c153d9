import type {AwaitedInput} from '../../protocol/methods/sharing-params.js';
import type {ManagedProcess} from '../managed-process.js';
import {usesAlternateScreen} from './alternate-screen.js';
import {examineInput, type InputFinding} from './awaited-input.js';

/** Interval between looks at a process while somebody waits for it to want input. */
const LOOK_INTERVAL_MS = 50;
/** Time a reader stays blocked before it counts: it may have been sent input that it has yet to notice. */
const MIN_BLOCKED_MS = 25;
/** Time without output and processor time before a guess counts. */
export const MIN_IDLE_MS = 300;
/** Longest time that looks hold up everything else at once. */
const MAX_LOOKS_MS = 5;
/** Pause after looks that took so long that others have to wait, in multiples of the time they took. */
const PAUSE_FACTOR = 9;

/** Input that a process waits for. */
export interface WantedInput {
	readonly awaited: AwaitedInput;
	/** It looks like it, but the kernel does not tell. */
	readonly isGuess: boolean;
}

/** True where it can be told whether this process waits for input; one that has no input never does. */
export function canTellInput({state}: ManagedProcess): boolean {
	return state.kind !== 'running' || state.child.stdin === undefined || state.child.inputProbe !== undefined;
}

/** Consecutive looks at one process. */
class InputLooks {
	readonly #process: ManagedProcess;
	#last: {readonly key: string; readonly since: number} | undefined;

	constructor(process: ManagedProcess) {
		this.#process = process;
	}

	/** Input the process has wanted for long enough, at this look and all looks since. */
	look(): WantedInput | undefined {
		const finding = this.find();
		if (!finding) return undefined;
		const {awaited, isGuess} = finding;
		const elapsedMs = performance.now() - this.#last!.since;
		return elapsedMs >= (isGuess ? MIN_IDLE_MS : MIN_BLOCKED_MS) ? {awaited, isGuess} : undefined;
	}

	/** Input it seems to want at this look. */
	find(): InputFinding | undefined {
		const {log} = this.#process;
		const finding = this.#examine();
		const key = finding && toKey(finding, log.totalBytes);
		if (key === undefined) this.#last = undefined;
		else if (this.#last?.key !== key) this.#last = {key, since: performance.now()};
		return finding;
	}

	/** A program that fills the screen shows its state there, and asks nothing; a password is always asked for. */
	#examine(): InputFinding | undefined {
		const {state, log} = this.#process;
		const source = state.kind === 'running' ? state.child.inputProbe?.() : undefined;
		const finding = source && state.kind === 'running' ? examineInput(state.child, source) : undefined;
		const mayBeFullScreen = source?.kind === 'terminal' && finding?.awaited === 'input';
		return mayBeFullScreen && usesAlternateScreen(log) ? undefined : finding;
	}
}

/** Others of the tree may write and compute while a process is blocked in a read. */
function toKey({awaited, isGuess, activity}: InputFinding, outputBytes: number): string {
	return isGuess ? `${awaited} ${activity} ${outputBytes}` : `${awaited} ${activity}`;
}

interface Watched {
	readonly looks: InputLooks;
	readonly listeners: Set<(input: WantedInput) => void>;
}

/** Processes that somebody waits for, in the order of the next look; waits for the same one share its looks. */
const watched = new Map<ManagedProcess, Watched>();
let timer: NodeJS.Timeout | undefined;

/** Calls back as soon as the process wants input, and again while it does, until the returned function is called. */
export function watchInput(process: ManagedProcess, listener: (input: WantedInput) => void): () => void {
	const entry = watched.get(process) ?? {looks: new InputLooks(process), listeners: new Set()};
	watched.set(process, entry);
	entry.listeners.add(listener);
	timer ??= setTimeout(lookAtAll, 0);
	return () => {
		entry.listeners.delete(listener);
		if (entry.listeners.size === 0 && watched.get(process) === entry) watched.delete(process);
		if (watched.size > 0) return;
		clearTimeout(timer);
		timer = undefined;
	};
}

/** Looks are quick, but there may be many: after a while the rest has to wait, so that most of the time is left to others. */
function lookAtAll(): void {
	const startedAt = performance.now();
	let elapsedMs = 0;
	const entries = [...watched];
	let left = entries.length;
	for (const [process, entry] of entries) {
		if (elapsedMs > MAX_LOOKS_MS) break;
		left--;
		// A listener of another process may have stopped it.
		if (watched.get(process) !== entry) continue;
		// The next one to be looked at is always the first.
		watched.delete(process);
		watched.set(process, entry);
		const input = entry.looks.look();
		if (input) for (const listener of entry.listeners) listener(input);
		elapsedMs = performance.now() - startedAt;
	}
	const pauseMs = elapsedMs * PAUSE_FACTOR;
	clearTimeout(timer);
	timer =
		watched.size === 0 ? undefined : setTimeout(lookAtAll, left > 0 ? pauseMs : Math.max(LOOK_INTERVAL_MS, pauseMs));
}

/** Input that the process waits for now; settles at once unless it takes an idle time to tell. */
export async function readAwaitedInput(process: ManagedProcess): Promise<AwaitedInput | null> {
	const looks = new InputLooks(process);
	const finding = looks.find();
	if (!finding?.isGuess) return finding?.awaited ?? null;
	// A timer may fire a fraction of a millisecond early.
	await new Promise(resolve => setTimeout(resolve, MIN_IDLE_MS + 1));
	return looks.look()?.awaited ?? null;
}
