import {MAX_TIMER_MS} from '../units.js';

/** Only Node and its relatives have timers that keep a program alive. */
type KeepAliveTimer = {ref?(): unknown; unref?(): unknown};

/** Number of `holdProgram` calls without their `releaseProgram`. */
let holdCount = 0;
let timer: KeepAliveTimer | undefined;

/** Keeps the program alive until `releaseProgram` is called, whatever becomes of its connections. */
export function holdProgram(): void {
	if (holdCount++ > 0) return;
	if (timer) timer.ref?.();
	else timer = setInterval(() => {}, MAX_TIMER_MS) as unknown as KeepAliveTimer;
}

/** Ends one `holdProgram`. */
export function releaseProgram(): void {
	if (--holdCount === 0) timer?.unref?.();
}

/** Keeps the program alive until the promise is settled; returns the promise. */
export function holdProgramFor<T>(promise: Promise<T>): Promise<T> {
	holdProgram();
	promise.then(releaseProgram, releaseProgram);
	return promise;
}
