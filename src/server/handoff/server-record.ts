import type {TableRecord} from '../../processes/handoff/process-record.js';
import type {ProcessRoot} from '../../processes/tree/subreaper.js';
import type {ProcessRole} from '../../protocol/methods/sharing-params.js';
import type {Grant} from '../auth/grant.js';

/** A process of a session, or one that outlives the sessions of its owner. */
export interface ProcessReference {
	readonly id: string;
	/** Id of the session it belongs to; undefined for one that outlives its session. */
	readonly session?: string | undefined;
	/** Name of the token. */
	readonly owner?: string | undefined;
}

/** A grant in a handoff: the process it is good for is told by name, the time it ends by the kernel's clock. */
export interface GrantRecord extends Omit<Grant, 'process'> {
	readonly process?: ProcessReference | undefined;
}

/** A session in a handoff. Times are those of the kernel. */
export interface SessionRecord {
	readonly id: string;
	readonly clientName: string;
	readonly owner?: GrantRecord | undefined;
	/** Undefined for a session whose client is connected, and loses its connection. */
	readonly detached?: {readonly since: number; readonly ttlMs: number} | undefined;
	readonly processes: TableRecord;
}

/** A session that uses a process, in a handoff. */
export interface MemberRecord {
	readonly process: ProcessReference;
	readonly session: string;
	/** Id the client knows the process by. */
	readonly processId: string;
	readonly role: ProcessRole;
}

/** A token for one process in a handoff. */
export interface ShareRecord {
	readonly digest: string;
	readonly grant: GrantRecord;
}

/** Everything of a server that goes on in the program that takes its place. */
export interface ServerRecord {
	readonly sessions: readonly SessionRecord[];
	/** Processes that outlive the sessions of an owner. */
	readonly kept: readonly {readonly owner?: string | undefined; readonly processes: TableRecord}[];
	readonly members: readonly MemberRecord[];
	readonly shares: readonly ShareRecord[];
	/** Descriptor that holds the lock of the state directory, if that is in use. */
	readonly stateLock?: number | undefined;
	/** Process ids of keepers that are children of this process. */
	readonly keepers?: readonly number[] | undefined;
	/** Leaders of processes that belong to a connection, and end with it. */
	readonly ending: readonly ProcessRoot[];
	/** When the last sandbox with a network ended; undefined if there was none. */
	readonly sandboxEndedAt?: number | undefined;
	/** Sandboxed processes that have ended while some of their descendants still run. */
	readonly endedSandboxes?: readonly ProcessRoot[] | undefined;
	/** Paths that sandboxes could write, and whether all that is below each. */
	readonly writtenRoots?: readonly (readonly [path: string, isWhole: boolean])[] | undefined;
}
