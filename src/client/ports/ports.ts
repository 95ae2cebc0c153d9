import type {PortConnection} from './port-connection.js';

export interface PortTarget {
	/** A name or an address as that machine knows it; `localhost` if left out. */
	readonly host?: string | undefined;
	readonly port: number;
	/** Gives up connecting; a connection that stands is ended by closing it. */
	readonly signal?: AbortSignal | undefined;
}

/** TCP ports as one machine sees them. */
export interface Ports {
	/** Settles when the connection stands. Fails with a `ForwardError`, or with the reason of the signal. */
	connect(target: PortTarget): Promise<PortConnection>;
}
