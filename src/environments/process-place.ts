import type {Files} from '../client/files/files.js';
import type {Processes} from '../client/process/process-handle.js';
import type {Dialect} from '../client/session/handshake.js';
import type {DisconnectListener, RemoteStatus} from '../client/session/lazy-client.js';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';

/** Who answers for a machine. */
export interface ServerDescription {
	readonly dialect: Dialect;
	/** Undefined where the server is too old to describe itself. */
	readonly info: EnvironmentInfo | undefined;
	/** What it says it can do; empty where it does not say. */
	readonly capabilities: Readonly<Record<string, boolean>>;
}

/** The processes of a machine and the way to it, without its files and its network. */
export interface ProcessPlace {
	readonly processes: Processes;
	server(): Promise<ServerDescription>;
	info(): Promise<EnvironmentInfo>;
	status(): Promise<RemoteStatus>;
	onDisconnect(listener: DisconnectListener): () => void;
	/** Its files, for those who rarely need them. */
	loadFiles(): Promise<Files>;
	close(): Promise<void>;
}
