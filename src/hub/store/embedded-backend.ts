import type {ClusterParts, HubBackend, HubCluster} from '../cluster/hub-cluster.js';
import {SingleNode} from '../cluster/single-node.js';
import {unmarkStateInNats} from '../nats/nats-marker.js';
import {FileStore} from './file-store.js';
import {HubTokens} from './hub-tokens.js';
import {MemoryGrants} from './memory-grants.js';
import type {BadLine} from './record-file.js';

/** State of a hub that is alone, in files of one directory. */
export class EmbeddedBackend implements HubBackend {
	readonly store: FileStore;
	readonly grants = new MemoryGrants();
	readonly tokens: HubTokens;

	/** Throws `STATE_UNUSABLE` for a directory that cannot be used, or that another hub uses. */
	constructor(directory: string, onBadLine?: (bad: BadLine) => void) {
		this.store = new FileStore(directory, onBadLine);
		unmarkStateInNats(directory);
		this.tokens = new HubTokens(directory, onBadLine);
	}

	createCluster(parts: ClusterParts): HubCluster {
		return new SingleNode(parts);
	}

	close(): Promise<void> {
		return this.store.close();
	}
}
