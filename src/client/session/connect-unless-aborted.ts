import {abortable} from '../../shared/async/timeout.js';
import type {Transport} from '../../transports/transport.js';
import type {Connect} from './session-client.js';

/** A transport that comes too late is closed: its maker may not have looked at the signal. */
export async function connectUnlessAborted(connect: Connect, signal: AbortSignal | undefined): Promise<Transport> {
	signal?.throwIfAborted();
	const connecting = connect(signal);
	try {
		return await abortable(connecting, signal);
	} catch (error) {
		if (signal?.aborted) void connecting.then(transport => transport.destroy()).catch(() => {});
		throw error;
	}
}
