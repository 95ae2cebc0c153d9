import {type Role, RpcConnection, type Service} from '../../src/rpc/rpc-connection.js';
import {type MemoryTransport, memoryTransportPair} from '../../src/transports/memory.js';
import {RawPeer} from '../helpers/raw-peer.js';

export interface Linked {
	readonly connection: RpcConnection;
	readonly peer: RawPeer;
	/** The transport below the connection; `fail` breaks the link. */
	readonly near: MemoryTransport;
}

/** A connection in memory whose other end is spoken to in raw messages. */
export function linked(role: Role, service: Partial<Service> = {}): Linked {
	const [near, far] = memoryTransportPair();
	const connection = new RpcConnection(near, role, {
		request: () => {
			throw new Error('unexpected request');
		},
		notification: () => true,
		...service,
	});
	connection.open();
	return {connection, peer: new RawPeer(far), near};
}
