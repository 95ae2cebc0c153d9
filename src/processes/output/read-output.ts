import type {Scope} from '../../shared/async/scope.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import type {OutputLog, OutputPage} from './output-log.js';

export interface ReadRequest {
	readonly afterSeq: number;
	readonly maxBytes: number | undefined;
	readonly waitMs: number;
}

/**
 * A page of the log after a cursor, rendered at once because its bytes are only borrowed. Waits up to `waitMs` for
 * something newer than the cursor: output, an exit the cursor does not cover yet, or the close. A wait that is cut off
 * by the end of `scope` never settles.
 */
export function readOutput<T>(
	log: OutputLog,
	request: ReadRequest,
	scope: Scope,
	render: (page: OutputPage) => T,
): T | Promise<T> {
	const page = log.read(request.afterSeq, request.maxBytes);
	if (request.waitMs === 0 || hasNews(log, page, request)) return render(page);
	// Nobody is left to hear the answer.
	if (scope.isClosed) return new Promise(() => {});
	return new Promise(resolve => {
		const finish = (news: OutputPage): void => {
			stop();
			resolve(render(news));
		};
		const stop = (): void => {
			clearTimeout(timer);
			unwatch();
			unregister();
		};
		const read = (): OutputPage => log.read(request.afterSeq, request.maxBytes);
		const timer = setTimeout(() => finish(read()), Math.min(request.waitMs, MAX_TIMER_MS));
		const unwatch = log.watch(() => {
			const news = read();
			if (hasNews(log, news, request)) finish(news);
		});
		const unregister = scope.add(stop);
	});
}

function hasNews(log: OutputLog, page: OutputPage, {afterSeq}: ReadRequest): boolean {
	return (
		page.chunks.length > 0 || log.closedSeq !== undefined || (log.exit !== undefined && afterSeq < log.nextSeq - 1)
	);
}

/** Settles when the process has exited, or after the time. A wait cut off by the end of `scope` never settles. */
export function waitForExit(log: OutputLog, timeoutMs: number | undefined, scope: Scope): void | Promise<void> {
	if (log.exit) return;
	// Nobody is left to hear the answer.
	if (scope.isClosed) return new Promise(() => {});
	// Nobody is left to hear the answer.
	if (scope.isClosed) return new Promise(() => {});
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
