import {setTimeout as delay} from 'node:timers/promises';

export {delay};

/** Runs `work(0)` to `work(count - 1)`, so many at a time; the milliseconds of each and of all: `{times, ms}`. */
export async function inParallel(count, width, work) {
	const times = new Float64Array(count);
	let next = 0;
	const worker = async () => {
		for (let index = next++; index < count; index = next++) {
			const began = performance.now();
			await work(index);
			times[index] = performance.now() - began;
		}
	};
	const began = performance.now();
	await Promise.all(Array.from({length: Math.min(width, count)}, worker));
	return {times, ms: performance.now() - began};
}

/** Asks until the answer is yes; false when it is still no after the time. */
export async function until(probe, {withinMs = Number.POSITIVE_INFINITY, everyMs = 100} = {}) {
	const deadline = performance.now() + withinMs;
	while (!(await probe())) {
		if (performance.now() > deadline) return false;
		await delay(everyMs);
	}
	return true;
}

/** The promise, or an error that says what took too long. */
export function within(ms, what, promise) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`${what}: nothing after ${ms} ms`)), ms);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
