import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import type {Logger} from '../../shared/logger.js';
import {loadKoffi} from '../../shared/node/koffi.js';

const CHECK_MS = 5000;
/** Growth over the least ever that is worth a collection. */
const WORTHWHILE_BYTES = 32 * 1024 * 1024;
/** A collection that gave back less than this was in vain: the memory is in use, or not let go yet. */
const GAIN_BYTES = 4 * 1024 * 1024;
/** Quiet checks to let pass after collections in vain: twice as many every time, up to a minute. */
const MAX_SKIPPED_CHECKS = 12;
/** Share of the time the event loop may be busy and still count as idle. */
const IDLE_UTILIZATION = 0.1;
/** Freed buffers reach the allocator in the background, a moment after the first collection. */
const SETTLE_MS = 500;

/**
 * Gives memory back to the system after a burst, in a quiet moment. By itself the garbage collector sees no reason to
 * run in a program that has stopped allocating, and the allocator keeps what was freed. What a burst leaves may be held
 * by sessions, processes and retention for a while longer, so a collection in vain is tried again, ever less often, and
 * soon when one of the figures of `listHolders` has fallen or memory has grown: there is something to give back then.
 */
export function collectGarbageWhenIdle(logger: Logger, listHolders: () => readonly number[] = () => []): void {
	keepYoungGenerationSmall();
	let least = process.memoryUsage.rss();
	let last = least;
	let holders = listHolders();
	let utilization = performance.eventLoopUtilization();
	let patience = 1;
	let quiet = 0;
	const check = (): void => {
		const busy = performance.eventLoopUtilization(utilization).utilization > IDLE_UTILIZATION;
		utilization = performance.eventLoopUtilization();
		const before = process.memoryUsage.rss();
		least = Math.min(least, before);
		const present = listHolders();
		const isReleased = present.some((figure, index) => figure < holders[index]!);
		holders = present;
		if (busy || isReleased || before > last + WORTHWHILE_BYTES) {
			last = before;
			patience = 1;
			quiet = 0;
		}
		if (busy) return;
		if (before < least + WORTHWHILE_BYTES || ++quiet < patience) return;
		quiet = 0;
		collect();
		setTimeout(() => {
			collect();
			trim();
			const after = process.memoryUsage.rss();
			last = after;
			patience = before - after < GAIN_BYTES ? Math.min(patience * 2, MAX_SKIPPED_CHECKS) : 1;
			logger.debug('memory returned', {before, after});
		}, SETTLE_MS).unref();
	};
	setInterval(check, CHECK_MS).unref();
}

/**
 * Under load V8 doubles the part of the heap for new objects until it takes tens of MiB. A server of many idle processes
 * and connections has no use for it: what is new here is short-lived or lives for long.
 */
function keepYoungGenerationSmall(): void {
	setFlagsFromString('--semi-space-growth-factor=1');
}

const collect = createLazily(() => {
	setFlagsFromString('--expose-gc');
	const gc = runInNewContext('gc') as () => void;
	setFlagsFromString('--no-expose-gc');
	return gc;
});

const trim = createLazily(() => {
	try {
		const mallocTrim = loadKoffi().load(null).func('int malloc_trim(size_t pad)');
		return () => void mallocTrim(0);
	} catch {
		// Another C library, or no bridge to it: the allocator decides for itself.
		return () => {};
	}
});

function createLazily(create: () => () => void): () => void {
	let action: (() => void) | undefined;
	return () => {
		action ??= create();
		action();
	};
}
