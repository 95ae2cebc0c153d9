import {waitAtMost} from '../../../shared/async/timeout.js';
import {UnreachableError} from '../connect-web-socket.js';
import {hintOfTlsError} from '../tls-trust.js';
import {RegistryError} from './registry-errors.js';

/** Pauses between attempts double from the first to the longest, each times a random half to whole. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;
/** Codes of connections that were refused, or broken before there was an answer. */
const CONNECTION_ERRORS: ReadonlySet<string | undefined> = new Set([
	'ECONNREFUSED',
	'ECONNRESET',
	'ECONNABORTED',
	'EPIPE',
]);
/** Answers of a balancer that does not reach the hub it has chosen. */
const BALANCER_STATUSES: ReadonlySet<number | undefined> = new Set([502, 503, 504]);
/** Causes of an error that are looked at. */
const MAX_CAUSES = 4;

/** Whether no hub has answered: a balancer may have led the connection to a node that is dead, and the next one to another. */
export function isUnreached(error: unknown): boolean {
	// A hub says in its refusals why; a balancer does not.
	if (error instanceof RegistryError && error.status !== undefined) {
		return BALANCER_STATUSES.has(error.status) && error.code === undefined;
	}
	if (error instanceof UnreachableError && error.status !== undefined) {
		return BALANCER_STATUSES.has(error.status) && error.rejection === undefined;
	}
	if (!(error instanceof RegistryError || error instanceof UnreachableError)) return false;
	return wasBroken(error);
}

function wasBroken(error: Error): boolean {
	let each: unknown = error;
	for (let depth = 0; depth < MAX_CAUSES && each instanceof Error; depth++) {
		if (hintOfTlsError(each) !== undefined) return false;
		if (CONNECTION_ERRORS.has((each as NodeJS.ErrnoException).code)) return true;
		each = each.cause;
	}
	return false;
}

/** Milliseconds before the next attempt, after so many that have not reached a hub. */
export function pauseAfterUnreached(attempts: number): number {
	return Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), MAX_PAUSE_MS) * (0.5 + Math.random() / 2);
}

/** Repeats a request that does no harm if it is made twice, as long as no hub is reached, for `limitMs` at most. */
export async function retryUnreached<T>(
	request: () => Promise<T>,
	{limitMs, signal}: {readonly limitMs: number; readonly signal?: AbortSignal | undefined},
): Promise<T> {
	const startedAt = performance.now();
	for (let attempts = 1; ; attempts++) {
		try {
			return await request();
		} catch (error) {
			const pauseMs = pauseAfterUnreached(attempts);
			const isLate = performance.now() + pauseMs - startedAt > limitMs;
			if (!isUnreached(error) || isLate || signal?.aborted) throw error;
			await waitAtMost(new Promise(() => {}), pauseMs, signal);
			signal?.throwIfAborted();
		}
	}
}
