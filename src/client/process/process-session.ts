import type {ServerDescription} from '../session/connection.js';
import type {Caller} from '../session/session-client.js';
import type {RemoteProcess} from './remote-process.js';
import type {ProcessRole, ScreenSize} from './shared-process.js';

/** Role that is asked for. */
export interface RoleRequest {
	readonly role: ProcessRole;
	/** Takes the place of the present driver. */
	readonly takeover: boolean;
	readonly size?: ScreenSize | undefined;
}

/** Asks about processes. */
export interface ProcessAsker extends Caller {
	describe(): Promise<ServerDescription>;
}

/** The session over which a process is reached. */
export interface ProcessSession extends ProcessAsker {
	/** Whether the server is known to announce this capability. */
	has(capability: string): boolean;
	/** Attaches once more, with another role; events go on behind the last one that was published. */
	attachAgain(process: RemoteProcess, request: RoleRequest): Promise<void>;
	/** Takes no more events for the process. */
	forget(process: RemoteProcess): void;
}
