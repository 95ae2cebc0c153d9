import type {ExecutorLoad} from '../../protocol/relay/executor-offer.js';
import type {Logger} from '../../shared/logger.js';
import type {NatsStatus} from '../hub-status-record.js';
import type {PickAnswer} from '../pools/pending-picks.js';
import type {JoiningEnd, Relay} from '../relay/relay.js';
import type {ExecutorEnd, RelaySocket} from '../relay/relay-ends.js';
import type {EnvironmentPlace} from '../store/hub-records.js';
import type {GrantStore, HubStore, TokenStore} from '../store/hub-store.js';

/** State of an executor that is connected to some node, for lists and placement. Nobody is refused because of a lease. */
export interface ExecutorLease extends EnvironmentPlace {
	readonly registrationId: string;
	/** Id of the node it is connected to. */
	readonly node: string;
	readonly streams: number;
	/** As the executor told last; undefined for one that tells nothing. */
	readonly load: ExecutorLoad | undefined;
	/** Its node is about to end: it gets no new clients if another member of its pool has room. */
	readonly isDraining: boolean;
	readonly onlineForMs: number;
}

/** The executor that a client's socket wants to reach, as its ticket says. */
export interface RouteTarget extends EnvironmentPlace {
	readonly registrationId: string;
	/** Id of the token of the client. */
	readonly tokenId: string;
}

/** A slot of an executor with so many of them, for a client of a token. */
export interface WantedSlot {
	readonly registrationId: string;
	readonly slots: number;
	readonly tokenId: string;
}

/** A client's way to its executor, on this node or on another one. Frames keep their order; none is lost without an end of the route. */
export interface HarnessRoute {
	/** Bytes that wait for the executor. */
	readonly backlog: number;
	/** Takes the socket of the client, first and once; false if the executor has too many clients or is gone. */
	attach(socket: RelaySocket): boolean;
	/** One message of the client. */
	receive(bytes: Uint8Array): void;
	/** The client takes more. */
	drained(): void;
	/** The client is gone: its streams are reset at the executor. May be called more than once. */
	close(): void;
}

/** One node, as the others and its owner see it. */
export interface NodeStatus {
	readonly id: string;
	readonly isSelf: boolean;
	/** False for one that does not answer. */
	readonly isAlive: boolean;
	readonly isDraining: boolean;
	readonly executors: number;
}

/** The nodes of a hub, as one of them sees the others. A hub without NATS is one node. */
export interface HubCluster {
	/** Id of this node, new at every start. */
	readonly nodeId: string;
	/** Whether an executor with this registration is connected to any node; asks it. Throws when that cannot be told. */
	isOnline(place: EnvironmentPlace, registrationId: string): Promise<boolean>;
	/** Asks the node of an executor for one of its slots, for a client of a pool that is about to come. */
	pick(place: EnvironmentPlace, wanted: WantedSlot): Promise<PickAnswer>;
	/** Makes an executor known before its socket is let in: its sockets at other nodes are closed. Returns how to take that back. */
	announce(joining: JoiningEnd): Promise<() => void>;
	/** An executor of this node came or went. */
	executorChanged(executor: ExecutorEnd): void;
	/** An executor of this node has more or fewer streams, or has told its load. */
	loadChanged(executor: ExecutorEnd): void;
	/** Another key has registered: the executor of a former registration is disconnected, wherever it is. */
	dismiss(place: EnvironmentPlace, registrationId: string): void;
	/** A way to an executor; undefined if none is connected. */
	openRoute(target: RouteTarget): Promise<HarnessRoute | undefined>;
	/** Executors of all nodes as of some seconds ago, of one tenant or of all. */
	leases(tenant?: string): readonly ExecutorLease[];
	findLease(place: EnvironmentPlace): ExecutorLease | undefined;
	nodes(): readonly NodeStatus[];
	/** State of the connection to the other nodes; null without one. */
	natsStatus(): NatsStatus | null;
	/** Tells the others that this node takes no new work. */
	drain(): void;
	close(): Promise<void>;
}

export interface ClusterParts {
	readonly relay: Relay;
	/** An executor of any node came or went. */
	readonly changed: (place: EnvironmentPlace, isOnline: boolean) => void;
	readonly logger: Logger;
}

/** Everything a hub shares with its other nodes. */
export interface HubBackend {
	readonly store: HubStore;
	readonly grants: GrantStore;
	readonly tokens: TokenStore;
	createCluster(parts: ClusterParts): HubCluster;
	/** After the cluster. */
	close(): Promise<void>;
}
