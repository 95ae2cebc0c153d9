import type {Backend} from '../processes/backends/backend.js';
import type {ProcessTable} from '../processes/process-table.js';
import type {Sandbox} from '../sandbox/sandbox.js';
import type {Grant} from './auth/grant.js';
import type {AccountShares} from './connection/account-shares.js';
import type {Dispatch} from './connection/dispatch.js';
import type {WaitingRequests} from './connection/pending-requests.js';
import type {RequestTurns} from './connection/request-turns.js';
import type {Sessions} from './connection/sessions.js';
import type {Keepers} from './keeper/keepers.js';
import type {ServerSettings} from './options.js';
import type {ServerMetrics} from './server-metrics.js';
import type {ShareTokens} from './sharing/share-tokens.js';
import type {SharedProcesses} from './sharing/shared-processes.js';

/** Processes of a connection of the first protocol, or processes that prepare the start of another one. */
export type TableUse = 'connection' | 'preparation';

export interface UpgradeRequest {
	/** Program to become, instead of the one that this server was started from. */
	readonly to?: string | undefined;
}

/** State of a server that its connections share. */
export interface ServerContext {
	readonly settings: ServerSettings;
	readonly sandbox: Sandbox;
	readonly sessions: Sessions;
	/** Processes of all sessions, and those that belong to none. */
	readonly registry: SharedProcesses;
	readonly shares: ShareTokens;
	readonly metrics: ServerMetrics;
	/** Programs that run durable processes. */
	readonly keepers: Keepers;
	readonly dispatch: Dispatch;
	/** Waiting requests by token, over all connections. */
	readonly waiting: WaitingRequests;
	/** Limits that connections of one token or address share. */
	readonly accountShares: AccountShares;
	/** Turns of the event loop for the requests of all connections. */
	readonly turns: RequestTurns;
	/** Undefined for a server that cannot be replaced. */
	readonly upgrade: () => ((request: UpgradeRequest) => Promise<void>) | undefined;
	/** Throws while the server shuts down. */
	readonly backend: () => Backend;
	/** Creates a table for processes that no other client sees, which count against the quotas of the grant. */
	readonly createTable: (owner: Grant | undefined, use: TableUse) => ProcessTable;
}
