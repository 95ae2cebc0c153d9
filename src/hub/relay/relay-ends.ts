import type {ExecutorLoad} from '../../protocol/relay/executor-offer.js';
import type {RendezvousSocket} from '../../transports/node/relay/rendezvous-socket.js';
import type {PendingPicks} from '../pools/pending-picks.js';

/** The part of a socket that a relay uses. */
export type RelaySocket = Pick<RendezvousSocket, 'send' | 'backlog' | 'pause' | 'resume' | 'close' | 'destroy'>;

/** Socket of an executor, and the clients of its streams. */
export interface ExecutorEnd {
	readonly tenant: string;
	readonly environmentId: string;
	readonly registrationId: string;
	/** Id of the token it came in with. */
	readonly tokenId: string;
	readonly socket: RelaySocket;
	/** Clients, with a stream or without. */
	readonly harnesses: Set<HarnessEnd>;
	readonly streams: Map<string, HarnessEnd>;
	/** Clients that wait until the executor takes more. */
	readonly held: Set<HarnessEnd>;
	/** As it told last; undefined for one that has told nothing, as stock ones do. */
	load: ExecutorLoad | undefined;
	/** Clients of pools that are on their way to it. */
	readonly picks: PendingPicks;
	/** Monotonic. */
	readonly since: number;
}

/** Socket of a client, and the streams it has claimed. */
export interface HarnessEnd {
	readonly executor: ExecutorEnd;
	/** Id of the token it came in with. */
	readonly tokenId: string;
	readonly socket: RelaySocket;
	readonly streams: Set<string>;
}
