import {MAX_TIMER_MS} from '../units.js';
import {Deferred} from './deferred.js';
import {onAbort} from './on-abort.js';

/** The outcome of the promise, or of `onTimeout` (which may throw) if it is still pending after `ms`. */
export async function withTimeout<T, L>(promise: Promise<T>, ms: number, onTimeout: () => L): Promise<T | L> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const timedOut = new Promise<void>(resolve => {
		timer = setTimeout(resolve, Math.min(ms, MAX_TIMER_MS));
	}).then(onTimeout);
	try {
		return await Promise.race([promise, timedOut]);
	} finally {
		clearTimeout(timer);
	}
}

/** The outcome of the promise, or a rejection with the reason of the signal if that is aborted first. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
	if (!signal) return promise;
	let stopListening: (() => void) | undefined;
	const aborted = new Promise<never>((_resolve, reject) => {
		stopListening = onAbort(signal, reject);
	});
	try {
		return await Promise.race([promise, aborted]);
	} finally {
		stopListening?.();
	}
}

/** Resolves when the promise (which must not reject) does, after `ms`, or when the signal aborts, whichever is first. */
export async function waitAtMost(promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<void> {
	if (signal?.aborted) return;
	const stopped = new Deferred();
	// A timer may fire a fraction of a millisecond early.
	const timer = setTimeout(stopped.resolve, Math.min(Math.ceil(ms) + 1, MAX_TIMER_MS));
	const stopListening = onAbort(signal, () => stopped.resolve());
	try {
		await Promise.race([promise, stopped.promise]);
	} finally {
		clearTimeout(timer);
		stopListening();
	}
}
