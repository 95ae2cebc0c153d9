import {createRequire} from 'node:module';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import type {Logger} from '../shared/logger.js';

const CHECK_MS = 5000;
/** Growth over the last low that is worth a collection. */
const WORTHWHILE_BYTES = 32 * 1024 * 1024;
/** Share of the time the event loop may be busy and still count as idle. */
const IDLE_UTILIZATION = 0.1;
/** Freed buffers reach the allocator in the background, a moment after the first collection. */
const SETTLE_MS = 500;

/**
 * Gives memory back to the system after a burst, in a quiet moment. By itself the garbage collector sees no reason to
 * run in a program that has stopped allocating, and the allocator keeps what was freed.
 */
export function keepMemorySmall(logger: Logger): void {
	let low = process.memoryUsage.rss();
	let utilization = performance.eventLoopUtilization();
	const check = (): void => {
		const busy = performance.eventLoopUtilization(utilization).utilization;
		utilization = performance.eventLoopUtilization();
		const before = process.memoryUsage.rss();
		low = Math.min(low, before);
		if (busy > IDLE_UTILIZATION || before < low + WORTHWHILE_BYTES) return;
		collect();
		setTimeout(() => {
			collect();
			trim();
			low = process.memoryUsage.rss();
			logger.debug('memory returned', {before, after: low});
		}, SETTLE_MS).unref();
	};
	setInterval(check, CHECK_MS).unref();
}

const collect = lazily(() => {
	setFlagsFromString('--expose-gc');
	return runInNewContext('gc') as () => void;
});

const trim = lazily(() => {
	try {
		const koffi = createRequire(import.meta.url)('koffi') as {
			load(path: null): {func(signature: string): (pad: number) => number};
		};
		const mallocTrim = koffi.load(null).func('int malloc_trim(size_t pad)');
		return () => void mallocTrim(0);
	} catch {
		// Another C library, or no bridge to it: the allocator decides for itself.
		return () => {};
	}
});

function lazily(create: () => () => void): () => void {
	let action: (() => void) | undefined;
	return () => {
		action ??= create();
		action();
	};
}
