import type {NodeStatus} from './cluster/hub-cluster.js';

/** A node of a hub, for its owner. */
export interface HubStatus {
	readonly isDraining: boolean;
	/** Executors, sockets of clients and streams of this node. */
	readonly executors: number;
	readonly clients: number;
	readonly streams: number;
	readonly nodes: readonly NodeStatus[];
	/** The NATS server this node is connected to; null for a hub that is alone. */
	readonly nats: NatsStatus | null;
}

export interface NatsStatus {
	readonly server: string;
	readonly version: string;
	readonly isConnected: boolean;
	/** How often the connection was lost. */
	readonly disconnects: number;
	/** Clients whose executor is at another node, and the other way round. */
	readonly links: number;
	/** Links that ended because a node was gone or knew them no more. */
	readonly linkResets: number;
	/** Bytes of frames that have not arrived at the other node. */
	readonly bytesOnTheWay: number;
}
