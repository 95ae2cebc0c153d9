/** Calls back when the signal is aborted, at once if it was; the returned function takes that back. */
export function onAbort(signal: AbortSignal | undefined, abort: (reason: unknown) => void): () => void {
	if (!signal) return () => {};
	const listener = () => abort(signal.reason);
	if (signal.aborted) listener();
	else signal.addEventListener('abort', listener, {once: true});
	return () => signal.removeEventListener('abort', listener);
}
