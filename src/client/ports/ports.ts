import type {PortConnection} from './port-connection.js';

/** TCP port as another machine sees it. */
export interface PortTarget {
	/** Host name or address, resolved by that machine; `localhost` if left out. */
	readonly host?: string | undefined;
	readonly port: number;
	/** Aborts connecting; an established connection is ended with `close()`. */
	readonly signal?: AbortSignal | undefined;
}

/** TCP connections from one machine. */
export interface Ports {
	/** Resolves when the connection is established. Fails with a `ForwardError`, or with the reason of the signal. */
	connect(target: PortTarget): Promise<PortConnection>;
}
