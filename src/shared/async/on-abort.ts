/** Adds an abort listener, called at once if the signal is aborted already; returns the function that removes it. */
export function onAbort(signal: AbortSignal | undefined, abort: (reason: unknown) => void): () => void {
	if (!signal) return () => {};
	const listener = () => abort(signal.reason);
	if (signal.aborted) listener();
	else signal.addEventListener('abort', listener, {once: true});
	return () => signal.removeEventListener('abort', listener);
}
