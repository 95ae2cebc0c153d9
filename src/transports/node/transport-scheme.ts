import type {Transport} from '../transport.js';
import type {ListenerOptions} from './listener-options.js';
import type {TlsIdentity} from './tls-server.js';

/** Settings of a target that are not part of its address; a scheme takes those it knows. */
export interface TargetOptions {
	/** Shown nowhere. */
	readonly token?: string | undefined;
	readonly connectTimeoutMs?: number | undefined;
	readonly pingIntervalMs?: number | undefined;
	readonly peerTimeoutMs?: number | undefined;
	/** Gets the standard error of a server that is started for the connection. */
	readonly onStderr?: ((text: string) => void) | undefined;
}

/** A target without its secrets: members for programs, one line for people. */
export interface TargetDescription {
	readonly members: {readonly kind: string; readonly [name: string]: unknown};
	readonly text: string;
}

/** An address of a server, and a path behind it. */
export interface AddressAndPath {
	readonly url: string;
	readonly path: string;
}

export interface EndpointOptions<Pass> extends ListenerOptions<Pass> {
	/**
	 * Gets the transport of a client that has started this program before the server is ready; returns the one to accept, or
	 * undefined if it has taken it.
	 */
	readonly inspect?: (transport: Transport) => Promise<Transport | undefined>;
}

/** A listener for clients. */
export interface Endpoint {
	/** Undefined where there is no address to connect to. */
	readonly url: string | undefined;
	/** Descriptor of a socket that listens, where there is one and the runtime tells it. */
	readonly fd?: number | undefined;
	/** Another certificate for connections from now on. */
	renew(tls: TlsIdentity): void;
	close(): Promise<void>;
}

/**
 * One way to reach a server, and to be one. Parsing and describing run at every start, so they need no other module;
 * `connect` and `listen` load their implementation.
 */
export interface TransportScheme<Target extends {readonly kind: string}, Address extends {readonly kind: string}> {
	readonly kind: Target['kind'];
	/** First characters of its addresses. */
	readonly prefixes: readonly string[];
	/**
	 * Whether the client starts the server and is its only client: the server needs no token, writes to the client's
	 * standard error and ends with the connection. Otherwise connecting costs nothing but a socket, and a lost connection
	 * is made again.
	 */
	readonly startsServer: boolean;
	/** Throws for an address that cannot be meant. */
	parseTarget(address: string, options: TargetOptions): Target;
	/**
	 * Splits an address from the path behind it; undefined for an address without a path. Schemes without it cannot stand in
	 * front of a path; the addresses of the others are URLs.
	 */
	readonly splitPath?: (address: string) => AddressAndPath | undefined;
	describe(target: Target): TargetDescription;
	connect(target: Target, signal?: AbortSignal): Promise<Transport>;

	readonly listenKind: Address['kind'];
	/** Form of its listen addresses, for error texts; undefined for one that upstream does not know. */
	readonly listenForm?: string;
	/** Undefined for an address of another scheme; throws for one of its own that cannot be meant. */
	parseListenAddress(text: string): Address | undefined;
	/** Whether a certificate is needed. */
	usesTls(address: Address): boolean;
	/** Whether messages pass others who can read them. */
	isReadableByOthers(address: Address): boolean;
	/** Whether other users, of this machine or another, can connect to a server that asks for no token. */
	isOpenToOtherUsers(address: Address): boolean;
	listen<Pass>(address: Address, options: EndpointOptions<Pass>): Promise<Endpoint>;
}
