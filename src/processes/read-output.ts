import type {Scope} from '../shared/scope.js';
import type {OutputLog, Page} from './output-log.js';

/** Longest single timer; a longer wait is served as if it were this long. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

export interface ReadRequest {
	readonly afterSeq: number;
	readonly maxBytes: number | undefined;
	readonly waitMs: number;
}

/**
 * A page of the log after a cursor. Waits up to `waitMs` for something newer than the cursor: output, an exit the
 * cursor does not cover yet, or the close. A wait that is cut off by the end of `scope` never settles.
 */
export function readOutput(log: OutputLog, request: ReadRequest, scope: Scope): Page | Promise<Page> {
	const page = log.read(request.afterSeq, request.maxBytes);
	if (request.waitMs === 0 || hasNews(log, page, request)) return page;
	return waitForNews(log, request, scope);
}

function waitForNews(log: OutputLog, request: ReadRequest, scope: Scope): Promise<Page> {
	return new Promise(resolve => {
		const stop = (): void => {
			clearTimeout(timer);
			unwatch();
			unregister();
		};
		const timer = setTimeout(
			() => {
				stop();
				resolve(log.read(request.afterSeq, request.maxBytes));
			},
			Math.min(request.waitMs, LONGEST_WAIT_MS),
		);
		const unwatch = log.watch(() => {
			const page = log.read(request.afterSeq, request.maxBytes);
			if (!hasNews(log, page, request)) return;
			stop();
			resolve(page);
		});
		const unregister = scope.add(stop);
	});
}

function hasNews(log: OutputLog, page: Page, {afterSeq}: ReadRequest): boolean {
	return (
		page.chunks.length > 0 || log.closedSeq !== undefined || (log.exit !== undefined && afterSeq < log.nextSeq - 1)
	);
}
