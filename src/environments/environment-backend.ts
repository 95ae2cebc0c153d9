import type {Files} from '../client/files/files.js';
import type {Http} from '../client/http/http.js';
import type {Ports} from '../client/ports/ports.js';
import type {Processes} from '../client/process/process-handle.js';
import type {ServerDescription} from '../client/session/connection.js';
import type {DisconnectListener, RemoteStatus} from '../client/session/lazy-client.js';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';

/** Implementation of an `Environment`. Files, HTTP and ports are loaded when they are asked for, once. */
export interface EnvironmentBackend {
	readonly processes: Processes;
	/** Calls with a sandbox may be done by other code. */
	loadFiles(isSandboxed: boolean): Promise<Files>;
	loadHttp(): Promise<Http>;
	loadPorts(): Promise<Ports>;
	/** Address of the machine that a hub has chosen; undefined where none was. */
	member?(): Promise<string | undefined>;
	server(): Promise<ServerDescription>;
	/** Undefined where there are no sessions. */
	sessionId(): Promise<string | undefined>;
	/** Settles with the description of the new server. */
	upgrade(to?: string): Promise<ServerDescription>;
	info(): Promise<EnvironmentInfo>;
	status(): Promise<RemoteStatus>;
	onDisconnect(listener: DisconnectListener): () => void;
	close(): Promise<void>;
}
