import type {Lifetime} from '../../shared/async/lifetime.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import type {OutputLog, OutputPage} from './output-log.js';

export interface ReadRequest {
	readonly afterSeq: number;
	readonly maxBytes: number | undefined;
	readonly waitMs: number;
}

/** Calls `make` when there is room for so many bytes. */
export type Admit = <T>(bytes: number, make: () => T) => T | Promise<T>;

/**
 * A page of the log after a cursor, rendered at once because its bytes are only borrowed. Waits up to `waitMs` for
 * something newer than the cursor: output, an exit the cursor does not cover yet, or the close. A wait that is cut off
 * by the end of `lifetime` never settles. Many may wait for the same output: after a wait `admit` renders the page when there
 * is room for it.
 */
export function readOutput<T>(
	log: OutputLog,
	request: ReadRequest,
	lifetime: Lifetime,
	render: (page: OutputPage) => T,
	admit: Admit = (_bytes, make) => make(),
): T | Promise<T> {
	const page = log.read(request.afterSeq, request.maxBytes);
	if (request.waitMs === 0 || hasNewEvents(log, page, request)) return render(page);
	return waitForEvent(log, request.waitMs, lifetime, isTimeout => {
		const next = log.read(request.afterSeq, request.maxBytes);
		if (!isTimeout && !hasNewEvents(log, next, request)) return undefined;
		return () => admit(bytesOf(next), () => render(log.read(request.afterSeq, request.maxBytes)));
	});
}

function bytesOf({chunks}: OutputPage): number {
	return chunks.reduce((sum, {bytes}) => sum + bytes.length, 0);
}

function hasNewEvents(log: OutputLog, page: OutputPage, {afterSeq}: ReadRequest): boolean {
	return (
		page.chunks.length > 0 || log.closedSeq !== undefined || (log.exit !== undefined && afterSeq < log.nextSeq - 1)
	);
}

/** Settles when the process has exited or is lost, or after the time. A wait cut off by the end of `lifetime` never settles. */
export function waitForExit(log: OutputLog, timeoutMs: number | undefined, lifetime: Lifetime): void | Promise<void> {
	const isOver = (): boolean => log.exit !== undefined || log.closedSeq !== undefined;
	if (isOver()) return;
	return waitForEvent(log, timeoutMs, lifetime, isTimeout => (isTimeout || isOver() ? () => {} : undefined));
}

/** Settles when there is an event with this number, or after the time. A wait cut off by the end of `lifetime` never settles. */
export function waitForNews(log: OutputLog, seq: number, timeoutMs: number, lifetime: Lifetime): void | Promise<void> {
	if (log.nextSeq > seq) return;
	return waitForEvent(log, timeoutMs, lifetime, isTimeout => (isTimeout || log.nextSeq > seq ? () => {} : undefined));
}

/** Calls `probe` after every event of the log, and at the timeout, until it returns a function for the result. */
function waitForEvent<T>(
	log: OutputLog,
	timeoutMs: number | undefined,
	lifetime: Lifetime,
	probe: (isTimeout: boolean) => (() => T | Promise<T>) | undefined,
): Promise<T> {
	// The connection is closed, so the reply has no receiver.
	if (lifetime.isClosed) return new Promise(() => {});
	return new Promise((resolve, reject) => {
		// Output on disk may be unreadable, which is for the caller: the log and its other watchers go on.
		const check = (isTimeout: boolean): void => {
			try {
				const result = probe(isTimeout);
				if (!result) return;
				stop();
				resolve(result());
			} catch (error) {
				stop();
				reject(error);
			}
		};
		const stop = (): void => {
			clearTimeout(timer);
			unwatch();
			unregister();
		};
		const timer =
			timeoutMs === undefined ? undefined : setTimeout(() => check(true), Math.min(timeoutMs, MAX_TIMER_MS));
		const unwatch = log.watch(() => check(false));
		const unregister = lifetime.add(stop);
	});
}
