import type {ManagedProcess} from '../../processes/managed-process.js';
import type {HandoffSink, HandoffSource} from '../../shared/node/handoff-file.js';
import {fromKernelTime, toKernelTime} from '../../shared/node/kernel-clock.js';
import type {Grant} from '../auth/grant.js';
import {dismissAbsentDrivers, type Sessions} from '../connection/sessions.js';
import type {ShareTokens} from '../sharing/share-tokens.js';
import type {SharedProcesses} from '../sharing/shared-processes.js';
import type {GrantRecord, MemberRecord, ProcessReference, ServerRecord} from './server-record.js';

/** The parts of a server that know of clients and their processes. */
export interface SharingParts {
	readonly sessions: Sessions;
	readonly registry: SharedProcesses;
	readonly shares: ShareTokens;
}

type SharingRecord = Pick<ServerRecord, 'sessions' | 'kept' | 'members' | 'shares'>;

/** Sessions, processes that outlive them, and who uses what. */
export function handOverSharing({sessions, registry, shares}: SharingParts, sink: HandoffSink): SharingRecord {
	const storeGrant = ({process, expiresAt, ...grant}: Grant): GrantRecord => ({
		...grant,
		...(process && {process: registry.refer(process)}),
		...(expiresAt !== undefined && {expiresAt: toKernelTime(expiresAt)}),
	});
	return {
		sessions: [...sessions].map(session => session.handOver(sink, storeGrant)),
		kept: [...registry.keptTables()].map(([owner, table]) => ({owner, processes: table.handOver(sink)})),
		members: [...registry.listShared()].flatMap(({process, members}) =>
			[...members].map(({session, processId, role}) => ({
				process: registry.refer(process),
				session: session.id,
				processId,
				role,
			})),
		),
		shares: shares.handOver(storeGrant),
	};
}

/** Call once the state directory is open: output on disk goes on to be written. Returns members of processes that are missing. */
export function adoptSharing(parts: SharingParts, record: SharingRecord, source: HandoffSource): MemberRecord[] {
	const {sessions, registry, shares} = parts;
	for (const {owner, processes} of record.kept) {
		const table = registry.keptTable(owner === undefined ? undefined : {name: owner});
		table.adopt(processes, source);
		dismissAbsentDrivers(table);
	}
	// Sessions of tokens for one process come last: the process may belong to another session.
	const ordered = [...record.sessions].sort((one, other) => countProcess(one.owner) - countProcess(other.owner));
	for (const session of ordered) {
		sessions.adopt(session, session.owner && loadGrant(session.owner, parts), source);
	}
	const absent = restoreMembers(record.members, parts);
	shares.adopt(record.shares, grant => loadGrant(grant, parts));
	return absent;
}

/** Returns those whose process is not here, or not yet: a durable one comes when its keeper is found. */
export function restoreMembers(members: readonly MemberRecord[], parts: SharingParts): MemberRecord[] {
	return members.filter(({process: reference, session: id, processId, role}) => {
		const process = locate(reference, parts);
		const session = parts.sessions.get(id);
		if (process && session) parts.registry.restoreMember(process, session, processId, role);
		return !process && session;
	});
}

function countProcess(owner: GrantRecord | undefined): number {
	return owner?.process ? 1 : 0;
}

function loadGrant({process: reference, expiresAt, ...rest}: GrantRecord, parts: SharingParts): Grant {
	const grant = {...rest, ...(expiresAt !== undefined && {expiresAt: fromKernelTime(expiresAt)})};
	if (!reference) return grant;
	const process = locate(reference, parts);
	// Good for nothing: the process is gone.
	return process ? {...grant, process} : {...grant, scopes: []};
}

function locate(
	{id, session, owner}: ProcessReference,
	{sessions, registry}: SharingParts,
): ManagedProcess | undefined {
	if (session !== undefined) return sessions.get(session)?.processes.find(id);
	return registry.keptTable(owner === undefined ? undefined : {name: owner}).find(id);
}
