import type {Connect} from '../../client/session/session-client.js';
import type {TransportTarget} from '../../transports/node/registry.js';

interface Timeouts {
	readonly initializeTimeoutMs?: number | undefined;
}

/** How a machine is reached. */
export type RemoteTarget = Timeouts &
	(
		| TransportTarget
		/** By a function of the caller's own. */
		| {readonly kind: 'transport'; readonly connect: Connect; readonly recovers?: boolean}
		/** A machine that does not exist yet: the promise settles when it does, and rejects when it never will. */
		| {readonly kind: 'provisioned'; readonly target: Promise<RemoteTarget>}
	);
