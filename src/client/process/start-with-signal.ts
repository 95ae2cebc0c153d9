import {onAbort} from '../../shared/async/on-abort.js';
import {abortable} from '../../shared/async/timeout.js';
import type {ProcessHandle, StartedProcess, StartOptions} from './process-handle.js';

/** Starts a process that ends when the signal is aborted, also if its start is still pending then. */
export async function startWithSignal(
	{signal}: StartOptions,
	start: () => Promise<StartedProcess>,
): Promise<StartedProcess> {
	if (!signal) return start();
	signal.throwIfAborted();
	const starting = start();
	const stopListening = onAbort(signal, () => void disposeOnceStarted(starting));
	try {
		const started = await abortable(starting, signal);
		started.process.closed.then(stopListening, stopListening);
		return started;
	} catch (error) {
		stopListening();
		throw error;
	}
}

async function disposeOnceStarted(starting: Promise<StartedProcess>): Promise<void> {
	let process: ProcessHandle;
	try {
		({process} = await starting);
	} catch {
		// The start failed: there is nothing to end.
		return;
	}
	try {
		await process[Symbol.asyncDispose]();
	} catch {
		// The executor has removed it already.
	}
}
