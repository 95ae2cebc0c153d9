// Time, processor time and memory of a piece of work.
import {cpuSecondsOf, rssOf} from './proc.mjs';

export const MIB = 1024 * 1024;

/** `12.3` MiB. */
export function toMib(bytes, digits = 0) {
	return (bytes / MIB).toFixed(digits);
}

/** The result of the work and how long it took: `{result, ms}`. */
export async function timed(work) {
	const began = performance.now();
	const result = await work();
	return {result, ms: performance.now() - began};
}

/** The same with the processor time that a process spent meanwhile: `{result, ms, cpuMs}`. */
export async function timedWithCpu(pid, work) {
	const cpuBefore = cpuSecondsOf(pid);
	const {result, ms} = await timed(work);
	return {result, ms, cpuMs: Math.round((cpuSecondsOf(pid) - cpuBefore) * 1000)};
}

/**
 * Samples the resident memory of processes: `pids()` gives their pids by name, now and at every sample. `stop` ends the
 * sampling with `{before, most}`, each by name in MiB.
 */
export function watchMemory(pids, {everyMs = 50, sampled = () => {}} = {}) {
	const before = readAll(pids);
	const most = {...before};
	const sample = () => {
		for (const [name, rss] of Object.entries(readAll(pids))) most[name] = Math.max(most[name] ?? 0, rss);
	};
	const timer = setInterval(() => {
		sample();
		sampled();
	}, everyMs);
	return {
		stop() {
			clearInterval(timer);
			sample();
			return {before, most};
		},
	};
}

function readAll(pids) {
	return Object.fromEntries(Object.entries(pids()).map(([name, pid]) => [name, rssOf(pid)]));
}
