import type {ProcessHandle, StartedProcess, StartOptions} from './process-handle.js';

/** Starts a process that ends when the signal is aborted, whether it runs by then or is still being started. */
export async function startWithSignal(
	{signal}: StartOptions,
	start: () => Promise<StartedProcess>,
): Promise<StartedProcess> {
	if (!signal) return start();
	signal.throwIfAborted();
	const starting = start();
	let abort!: () => void;
	const aborted = new Promise<never>((_resolve, reject) => {
		abort = () => {
			reject(signal.reason as Error);
			void endOnceStarted(starting);
		};
		signal.addEventListener('abort', abort, {once: true});
	});
	// After the start nobody waits for it any more.
	aborted.catch(() => {});
	const stopListening = () => signal.removeEventListener('abort', abort);
	try {
		const started = await Promise.race([starting, aborted]);
		started.process.closed.then(stopListening, stopListening);
		return started;
	} catch (error) {
		stopListening();
		throw error;
	}
}

async function endOnceStarted(starting: Promise<StartedProcess>): Promise<void> {
	let process: ProcessHandle;
	try {
		({process} = await starting);
	} catch {
		// What could not be started need not be ended.
		return;
	}
	try {
		await process[Symbol.asyncDispose]();
	} catch {
		// The executor does not know it any more.
	}
}
