import {connectUnlessAborted} from './connect-unless-aborted.js';
import {Connection, type ConnectionOptions} from './connection.js';
import {isStillAttached, RETRY_INTERVAL_MS} from './recovery.js';
import type {Connect} from './session-client.js';

/** Time for the server to see that the client whose session is resumed has left. */
const ATTACHED_WAIT_MS = 2000;

/** Resuming waits a moment for the server to see that the earlier client has left. */
export async function openUnlessAttached(connect: Connect, options: ConnectionOptions): Promise<Connection> {
	const deadline = performance.now() + ATTACHED_WAIT_MS;
	for (;;) {
		try {
			return await Connection.open(await connectUnlessAborted(connect, options.signal), options);
		} catch (error) {
			const mayLeave = options.resumeSessionId !== undefined && isStillAttached(error);
			if (!mayLeave || options.signal?.aborted || performance.now() >= deadline) throw error;
		}
		await new Promise(resolve => setTimeout(resolve, RETRY_INTERVAL_MS));
	}
}
