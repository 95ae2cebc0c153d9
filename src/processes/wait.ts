import {MAX_TIMER_MS} from '../shared/limits.js';
import type {Scope} from '../shared/scope.js';
import type {OutputLog} from './output-log.js';

/** Settles when the process has exited, or after the time. A wait cut off by the end of `scope` never settles. */
export function waitForExit(log: OutputLog, timeoutMs: number | undefined, scope: Scope): void | Promise<void> {
	if (log.exit) return;
	// Nobody is left to hear the answer.
	if (scope.closed) return new Promise(() => {});
	// Nobody is left to hear the answer.
	if (scope.closed) return new Promise(() => {});
	return new Promise(resolve => {
		const finish = (): void => {
			stop();
			resolve();
		};
		const stop = (): void => {
			clearTimeout(timer);
			unwatch();
			unregister();
		};
		const timer = timeoutMs === undefined ? undefined : setTimeout(finish, Math.min(timeoutMs, MAX_TIMER_MS));
		const unwatch = log.watch(() => {
			if (log.exit) finish();
		});
		const unregister = scope.add(stop);
	});
}
