import {setTimeout as delay} from 'node:timers/promises';

export {delay};

/** Runs `work(0)` to `work(count - 1)`, so many at a time. */
export async function inParallel(count, width, work) {
	let next = 0;
	const worker = async () => {
		while (next < count) await work(next++);
	};
	await Promise.all(Array.from({length: width}, worker));
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
