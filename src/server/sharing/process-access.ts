import type {ManagedProcess} from '../../processes/managed-process.js';
import {LongarmError} from '../../shared/errors.js';
import {allows, type Grant} from '../auth/grant.js';

/** Whether a client is one of the owner's: without tokens everybody is. */
export function isOwner({options}: ManagedProcess, grant: Grant | undefined): boolean {
	if (grant?.process !== undefined) return false;
	return grant === undefined || (options.owner === grant.name && allows(grant, 'drive'));
}

export function mayObserve(process: ManagedProcess, grant: Grant | undefined): boolean {
	if (!allows(grant, 'observe')) return false;
	if (grant?.process !== undefined) return grant.process === process;
	const {observe, drive} = process.sharing;
	return grant === undefined || process.options.owner === grant.name || observe === 'any' || drive === 'any';
}

export function mayDrive(process: ManagedProcess, grant: Grant | undefined): boolean {
	if (!allows(grant, 'drive')) return false;
	if (grant?.process !== undefined) return grant.process === process;
	return grant === undefined || process.options.owner === grant.name || process.sharing.drive === 'any';
}

export function notOwnerError(processId: string): LongarmError {
	return new LongarmError('NOT_OWNER', {
		message: `process ${processId} belongs to another client`,
		context: {processId},
	});
}
