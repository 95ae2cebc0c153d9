import type {ManagedProcess} from '../../processes/managed-process.js';
import type {StartRequest} from '../../processes/prepare-spawn.js';
import type {ProcessTable} from '../../processes/process-table.js';
import type {ProcessRole} from '../../protocol/methods/sharing-params.js';
import {LongarmError} from '../../shared/errors.js';
import type {Grant} from '../auth/grant.js';
import type {Session} from '../connection/sessions.js';
import type {ProcessReference} from '../handoff/server-record.js';
import {mayDrive, mayObserve} from './process-access.js';
import {type Member, SharedProcess} from './process-members.js';

/** Processes one session may be attached to at once. */
export const MAX_ATTACHED_PROCESSES = 1024;
/** Sessions that may be attached to one process at once. */
export const MAX_ATTACHED_SESSIONS = 1024;

/** Client that asks for a process. */
export interface ProcessCaller {
	readonly session: Session;
	readonly grant: Grant | undefined;
}

/** A session that uses a process, as lists show it. */
export type ListedMember = Pick<Member, 'session' | 'role' | 'since'>;

export interface AttachRequest {
	readonly role: ProcessRole;
	readonly takeover: boolean;
	readonly afterSeq: number | undefined;
}

/**
 * The processes of all sessions, and those that belong to none because they outlive theirs. Finds them by id or name for
 * clients that may see them, and knows who is attached. Nothing is kept here for a process that one session uses alone.
 */
export class SharedProcesses {
	readonly #createTable: (owner: Grant | undefined) => ProcessTable;
	/** With the session each belongs to. */
	readonly #tables = new Map<ProcessTable, Session | undefined>();
	/** Tables of processes that belong to no session, by their owner. */
	readonly #kept = new Map<string | undefined, ProcessTable>();
	readonly #named = new Map<string, Set<ManagedProcess>>();
	readonly #shared = new Map<ManagedProcess, SharedProcess>();

	/** `createTable` makes the table of the processes of an owner that outlive their session. */
	constructor(createTable: (owner: Grant | undefined) => ProcessTable) {
		this.#createTable = createTable;
	}

	addTable(table: ProcessTable, session: Session | undefined): void {
		this.#tables.set(table, session);
		table.onAdded(process => this.#addName(process));
	}

	removeTable(table: ProcessTable): void {
		this.#tables.delete(table);
	}

	/** The table of processes that outlive the sessions of an owner. */
	keptTable(owner: Grant | undefined): ProcessTable {
		let table = this.#kept.get(owner?.name);
		if (!table) {
			table = this.#createTable(owner);
			this.#kept.set(owner?.name, table);
		}
		return table;
	}

	/** Tables of processes that outlive their sessions, by the name of their owner. */
	keptTables(): Iterable<readonly [string | undefined, ProcessTable]> {
		return this.#kept;
	}

	/** Processes that several sessions use or have used. */
	listShared(): Iterable<SharedProcess> {
		return this.#shared.values();
	}

	/** Names a process for a program that takes the place of this one. */
	refer(process: ManagedProcess): ProcessReference {
		return {id: process.id, session: this.#findHome(process)?.id, owner: process.options.owner};
	}

	/** A session that used the process before this program took the place of another. */
	restoreMember(process: ManagedProcess, session: Session, processId: string, role: ProcessRole): void {
		let shared = this.#shared.get(process);
		if (!shared) {
			shared = new SharedProcess(process);
			this.#shared.set(process, shared);
			// Until it is told to be a member as well.
			this.#findHome(process)?.left.add(process);
		}
		shared.enter(session, processId, role);
	}

	/** False for a table of one connection. */
	has(table: ProcessTable): boolean {
		return this.#tables.has(table);
	}

	/** True for a table of processes that outlive their sessions. */
	isKept(table: ProcessTable): boolean {
		return this.#tables.has(table) && this.#tables.get(table) === undefined;
	}

	/** Processes this client may look at, each with the session it belongs to. */
	*visibleTo(grant: Grant | undefined): Iterable<readonly [ManagedProcess, Session | undefined]> {
		for (const [table, session] of this.#tables) {
			for (const process of table) if (mayObserve(process, grant)) yield [process, session];
		}
	}

	/** Starts a process that outlives its session; the client drives it. */
	startKept(caller: ProcessCaller, id: string, request: StartRequest): Promise<ManagedProcess> {
		const table = this.keptTable(caller.grant);
		this.requireFree(id, request, caller);
		const started = table.start(id, request);
		// The table has made the entry before it waits for anything.
		const process = table.find(id);
		if (process) {
			this.share(process).enter(caller.session, id, 'drive');
			caller.session.pump?.deliver(process, {drives: true});
			process.started.catch(() => this.forget(process));
		}
		return started;
	}

	/** Throws `PROCESS_EXISTS` if the id is one of a process that outlives sessions, or the name one of a living process. */
	requireFree(id: string, {sharing, outlivesSession, spill}: StartRequest, {session, grant}: ProcessCaller): void {
		if (outlivesSession || spill) {
			const isTaken = [...this.#kept.values()].some(table => table.find(id)) || (outlivesSession && session.find(id));
			if (isTaken) throw existsError(`process ${id} already exists`, id);
		}
		const name = sharing?.name;
		if (name === undefined) return;
		for (const process of this.#named.get(name) ?? []) {
			if (!process.isAlive || process.options.owner !== grant?.name) continue;
			throw existsError(`the name ${name} is that of process ${process.id}, which has not ended`, process.id);
		}
	}

	/** The process of this id or name; undefined if there is none that this client may see. */
	find(reference: string, {session, grant}: ProcessCaller): ManagedProcess | undefined {
		const own = session.find(reference);
		if (own && mayObserve(own, grant)) return own;
		return this.#findByName(reference, grant) ?? this.#findById(reference, grant);
	}

	/** The same when it was started; one whose start fails is unknown. */
	async requireStarted(reference: string, caller: ProcessCaller): Promise<ManagedProcess> {
		const process = this.require(reference, caller);
		// The client that asked for the start is told why it failed.
		await process.started.catch(() => {});
		return process.state.kind === 'failed' ? this.require(reference, caller) : process;
	}

	/** The same; throws `PROCESS_UNKNOWN`. */
	require(reference: string, caller: ProcessCaller): ManagedProcess {
		const process = this.find(reference, caller);
		if (process) return process;
		throw new LongarmError('PROCESS_UNKNOWN', {
			message: `unknown process id ${reference}`,
			context: {processId: reference},
		});
	}

	/** Attaches a client, or changes how it is attached, and delivers events after `afterSeq`. */
	attach(process: ManagedProcess, caller: ProcessCaller, {role, takeover, afterSeq}: AttachRequest): Member {
		const {session, grant} = caller;
		const shared = this.share(process);
		if (role === 'drive' && !mayDrive(process, grant)) throw shared.notDriverError();
		if (!shared.find(session)) this.#requireRoom(shared, session);
		const processId = shared.find(session)?.processId ?? findFreeId(process, session);
		const member = shared.attach(session, processId, role, takeover);
		session.pump?.deliver(process, {processId, afterSeq, drives: shared.isDriver(session)});
		return member;
	}

	/** The clients of a process; the session it belongs to drives it until another one does. */
	share(process: ManagedProcess): SharedProcess {
		let shared = this.#shared.get(process);
		if (!shared) {
			shared = new SharedProcess(process);
			this.#shared.set(process, shared);
			const home = this.#findHome(process);
			if (home) shared.enter(home, process.id, 'drive');
		}
		return shared;
	}

	/** Sessions that get its events; of a process that is not shared the one it belongs to. */
	listMembers(process: ManagedProcess, home: Session | undefined): readonly ListedMember[] {
		const shared = this.#shared.get(process);
		if (shared) return [...shared.members];
		return home ? [{session: home, role: 'drive', since: performance.now() - process.ageMs}] : [];
	}

	/** The session a process belongs to; undefined for one that outlives sessions. */
	#findHome(process: ManagedProcess): Session | undefined {
		for (const [table, session] of this.#tables) if (table.find(process.id) === process) return session;
		return undefined;
	}

	/** Removes a process that has ended, with its files. */
	async remove(process: ManagedProcess): Promise<void> {
		this.drop(process);
		await process.options.spill?.discard();
	}

	/** Forgets an ended process, whatever table it is in. */
	drop(process: ManagedProcess): void {
		// The table of a session hands it on to that of those that outlive sessions.
		for (const tables of [this.#tables.keys(), this.#kept.values()]) {
			for (const table of tables) if (table.find(process.id) === process) table.remove(process);
		}
	}

	/** Forgets a process that was removed from its table. */
	forget(process: ManagedProcess): void {
		const shared = this.#shared.get(process);
		for (const {session} of shared?.members ?? []) session.memberships.delete(shared!);
		this.#shared.delete(process);
		const {name} = process.sharing;
		if (name === undefined) return;
		const named = this.#named.get(name);
		named?.delete(process);
		if (named?.size === 0) this.#named.delete(name);
	}

	#addName(process: ManagedProcess): void {
		const name = process.options.sharing?.name;
		if (name === undefined) return;
		const named = this.#named.get(name);
		if (named) named.add(process);
		else this.#named.set(name, new Set([process]));
	}

	/** Of the client's own processes before those of others, of living ones before ended ones, the latest. */
	#findByName(name: string, grant: Grant | undefined): ManagedProcess | undefined {
		const rank = (process: ManagedProcess): number =>
			(process.options.owner === grant?.name ? 2 : 0) + (process.isAlive ? 1 : 0);
		return [...(this.#named.get(name) ?? [])]
			.filter(process => mayObserve(process, grant))
			.sort((one, other) => rank(other) - rank(one) || other.startedAt - one.startedAt)[0];
	}

	#findById(id: string, grant: Grant | undefined): ManagedProcess | undefined {
		const found = [...this.#tables.keys()]
			.map(table => table.find(id))
			.filter(process => process !== undefined && mayObserve(process, grant));
		if (found.length <= 1) return found[0];
		throw new LongarmError('PROCESS_AMBIGUOUS', {
			message: `${found.length} sessions have a process ${id}`,
			context: {processId: id},
		});
	}

	#requireRoom(shared: SharedProcess, session: Session): void {
		if (session.memberships.size >= MAX_ATTACHED_PROCESSES) {
			throw limitError(
				`this session is attached to ${MAX_ATTACHED_PROCESSES} processes already`,
				MAX_ATTACHED_PROCESSES,
			);
		}
		if ([...shared.members].length >= MAX_ATTACHED_SESSIONS) {
			throw limitError(`${MAX_ATTACHED_SESSIONS} clients are attached already`, MAX_ATTACHED_SESSIONS);
		}
	}
}

/** An id that no other process of the session has: clients choose ids, and may choose the same. */
function findFreeId(process: ManagedProcess, session: Session): string {
	for (let count = 1, candidate = process.id; ; candidate = `${process.id}~${++count}`) {
		const holder = session.find(candidate);
		if (!holder || holder === process) return candidate;
	}
}

function existsError(message: string, processId: string): LongarmError {
	return new LongarmError('PROCESS_EXISTS', {message, context: {processId}});
}

function limitError(message: string, limit: number): LongarmError {
	return new LongarmError('PROCESS_LIMIT', {message, context: {limit}});
}
