import type {Connect} from '../../client/session/session-client.js';
import type {ConnectCommandOptions} from '../../transports/node/connect-command.js';
import type {ConnectOptions} from '../../transports/node/connect-web-socket.js';

interface Timeouts {
	readonly initializeTimeoutMs?: number | undefined;
}

/** How a machine is reached. */
export type RemoteTarget = Timeouts &
	(
		| {
				readonly kind: 'websocket';
				readonly url: string;
				/** Sent as a bearer token, shown nowhere. */
				readonly token?: string | undefined;
				readonly tls?: ConnectOptions['tls'];
				readonly connectTimeoutMs?: number | undefined;
		  }
		| ({readonly kind: 'command'; readonly program: string} & ConnectCommandOptions)
		/** In a way of the caller's own. */
		| {readonly kind: 'transport'; readonly connect: Connect; readonly recovers?: boolean}
		/** Not there yet: settles when it is, and rejects when it will never be. */
		| {readonly kind: 'provisioned'; readonly target: Promise<RemoteTarget>}
	);
