import type {Transport} from '../transport.js';
import type {HttpEndpoints} from './http-endpoints.js';
import type {HttpSite} from './http-site.js';
import type {LocalPeer} from './peer-owner.js';
import type {PeerTimes} from './peer-times.js';
import type {TlsIdentity} from './tls-server.js';

/** Result of authentication: the pass of the client, or the reason of its refusal. */
export type AdmissionResult<Pass> =
	| {readonly kind: 'pass'; readonly pass: Pass}
	| {readonly kind: 'refused'; readonly text: string};

/** An upgrade request, as seen by `authorize`. */
export interface ConnectionRequest {
	/** The `Authorization` header; not to be logged. */
	readonly authorization: string | undefined;
	readonly peer: string;
}

/** A connection, or a page, that a client was not given. */
export interface RefusedRequest {
	/** Address without the port, or `unix:PATH`. */
	readonly from: string;
	readonly port: number | undefined;
	readonly path: string;
	readonly status: number;
	readonly reason: string;
}

export interface ListenerOptions<Pass = undefined> {
	/** Descriptor of a socket that listens at this place already; it is taken over instead of making one. */
	readonly listeningFd?: number | undefined;
	/** Called for every client that was refused for who it is. */
	readonly onRefused?: (refused: RefusedRequest) => void;
	/** Without authentication anybody who reaches the port owns this machine; only loopback is listened on unless this is set. */
	readonly dangerouslyAllowNetwork?: boolean;
	/**
	 * Called before every WebSocket and every page but `/readyz`; a refused client gets 401 and the text. Without it
	 * every client is accepted.
	 */
	readonly authorize?: (request: ConnectionRequest) => Promise<AdmissionResult<Pass>>;
	/** Clients that come earlier wait for it; nothing they send is read before. */
	readonly ready?: Promise<unknown>;
	/** `pass` is what `authorize` gave, `user` the id of the user of this machine who connected, where that was looked up. */
	readonly accept: (transport: Transport, pass: Pass, user?: number) => void;
	/** Whether the holder of the pass may have one more WebSocket; 503 otherwise. */
	readonly hasRoom?: (pass: Pass) => boolean;
	/** Whether clients may come at all; all are turned away with 503 otherwise, and `/readyz` says so. */
	readonly isOpen?: () => boolean;
	/** More WebSockets than this are turned away with 503. */
	readonly maxConnections?: number;
	/** Origins whose web pages may connect; none by default. */
	readonly allowOrigins?: readonly string[];
	/** Why a connection from this machine is refused, for the client; undefined lets it in. */
	readonly refuseLocalPeer?: (peer: LocalPeer) => string | undefined;
	/** Names, beside its addresses and `localhost`, by which clients may call a listener without TLS. */
	readonly allowHosts?: readonly string[];
	/** Whether the holder of the pass may see the pages; 403 otherwise. */
	readonly mayReadPages?: (pass: Pass) => boolean;
	/** Pages for people and machines that watch the server, by path. */
	readonly pages?: HttpEndpoints['pages'];
	/** Pages and WebSockets below a prefix, with credentials of their own. */
	readonly site?: HttpSite | undefined;
	/** Serves `wss:` instead of `ws:`. */
	readonly tls?: TlsIdentity;
	/** How long a TLS handshake may take. */
	readonly handshakeMs?: number;
	/** When silent clients are pinged and given up; members that are left out have their defaults. */
	readonly peerTimes?: Partial<PeerTimes>;
	/** A client does not answer, but its machine does: the program is stopped, or a proxy holds the connection. */
	readonly onStoppedPeer?: (peer: string) => void;
}
