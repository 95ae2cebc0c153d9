/** Waits for a promise that never rejects, but not for longer than this, nor after the signal. */
export async function waitAtMost(promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<void> {
	if (signal?.aborted) return;
	let stop!: () => void;
	const stopped = new Promise<void>(resolve => {
		stop = resolve;
	});
	// A timer may come a fraction of a millisecond early.
	const timer = setTimeout(stop, Math.ceil(ms) + 1);
	signal?.addEventListener('abort', stop, {once: true});
	try {
		await Promise.race([promise, stopped]);
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener('abort', stop);
	}
}
