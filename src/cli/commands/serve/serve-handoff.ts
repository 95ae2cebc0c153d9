import type {ConsoleSessionRecord} from '../../../console/server/console-logins.js';
import type {SubreaperState} from '../../../processes/backends/backend.js';
import type {ServerRecord} from '../../../server/handoff/server-record.js';
import type {HandoffReader} from '../../../shared/node/handoff-file.js';
import type {CredentialState} from './credential-frames.js';

/** Names the descriptor of the state to the program that takes the place of a server. */
export const HANDOFF_VARIABLE = 'LONGARM_HANDOFF_FD';

/** The whole state that `longarm serve` hands over; `HANDOFF_VERSION` counts its forms. Times are those of the kernel. */
export interface ServeState {
	/** The state is for this process alone. */
	readonly pid: number;
	/** Version of the program that wrote it. */
	readonly version: string;
	readonly writtenAt: number;
	readonly instanceId: string;
	/** Descriptor of the socket that listens; undefined for a server that is reached through hubs only. */
	readonly listeningFd?: number | undefined;
	/** Token for hubs that came on standard input. */
	readonly credential?: CredentialState | undefined;
	/** Browsers that are logged in to the console; undefined without one. */
	readonly consoleSessions?: readonly ConsoleSessionRecord[] | undefined;
	readonly subreaper: SubreaperState;
	/** Control group that limits the children. */
	readonly childGroupPath?: string | undefined;
	readonly server: ServerRecord;
}

/** The state of the program that this one has taken the place of, and its bytes and descriptors. */
export interface ServeHandoff {
	readonly state: ServeState;
	readonly source: HandoffReader;
}
