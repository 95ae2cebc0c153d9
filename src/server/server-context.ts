import type {Backend} from '../processes/backends/backend.js';
import type {ProcessTable} from '../processes/process-table.js';
import type {Sandbox} from '../sandbox/sandbox.js';
import type {Grant} from './auth/grant.js';
import type {Dispatch} from './connection/dispatch.js';
import type {WaitingRequests} from './connection/pending-requests.js';
import type {Session, Sessions} from './connection/sessions.js';
import type {ServerSettings} from './options.js';

/** State of a server that its connections share. */
export interface ServerContext {
	readonly settings: ServerSettings;
	readonly sandbox: Sandbox;
	readonly sessions: Sessions;
	readonly dispatch: Dispatch;
	/** Waiting requests by token, over all connections. */
	readonly waiting: WaitingRequests;
	/** Throws while the server shuts down. */
	readonly backend: () => Backend;
	/** Creates a table whose processes count against the quotas of the grant and of the session. */
	readonly createTable: (owner: Grant | undefined, session?: Session) => ProcessTable;
}
