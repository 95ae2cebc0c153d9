import type {ListedProcess} from '../../../client/process/shared-process.js';
import {RejectedError} from '../../../client/session/client-errors.js';
import {Environment} from '../../../environments/environment.js';
import type {GivenProcess} from '../../../environments/processes/find-process.js';
import {UnknownProcessError} from '../../../environments/processes/unknown-process-error.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {usageError} from '../../exit-codes.js';
import {openEnvironment} from '../environments.js';
import {parseShareLink, type ShareLink} from './share-link.js';

/** Time limit for the orderly end of a connection. */
const GOODBYE_MS = 1000;

/** The refusal of every server that does not know a process; it has no code of its own. */
const UNKNOWN = 'unknown process id ';

/** Where the processes of a command are. */
export interface ProcessPlace {
	/** The one of `-e`; the default one otherwise. */
	readonly environment: string | undefined;
	readonly quiet: boolean;
	/** See `OpenOptions`. */
	readonly isPatient?: boolean;
}

/** The server has refused something, in its own words. */
class RefusedError extends Error {
	override readonly name = 'RefusedError';
	readonly hint: string | undefined;

	constructor(refusal: RejectedError) {
		super(refusal.reason, {cause: refusal});
		this.hint = refusal.hint;
	}
}

/** Runs work about a process, which may be given as a share link, and ends the connection. */
export async function withProcess(
	given: string,
	place: ProcessPlace,
	work: (process: GivenProcess) => Promise<number>,
): Promise<number> {
	const link = parseShareLink(given);
	const environment = link ? await openLink(link) : await openEnvironment(place.environment, {...place, isNamed: true});
	const process = {environment, reference: link?.processId ?? given};
	return withEnvironment(environment, async () => {
		try {
			return await work(process);
		} catch (error) {
			throw await explainRefusal(error, process);
		}
	});
}

/** Runs work and ends the connection in any case. Refusals are told in the words of the server. */
export async function withEnvironment<T>(environment: Environment, work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		throw error instanceof RejectedError ? new RefusedError(error) : error;
	} finally {
		// An environment that could not be reached has nothing to end.
		await waitAtMost(
			environment.close().catch(() => {}),
			GOODBYE_MS,
		);
	}
}

/** The same failure for people: with names that are near, and without the wire's words. */
export async function explainRefusal(error: unknown, {environment, reference}: GivenProcess): Promise<unknown> {
	if (!(error instanceof RejectedError)) return error;
	if (!error.reason.startsWith(UNKNOWN)) return new RefusedError(error);
	return new UnknownProcessError(reference, environment.id, await listKnown(environment));
}

/** Names for a suggestion; none if they cannot be had. */
async function listKnown({processes}: Environment): Promise<ListedProcess[]> {
	try {
		return await processes.list({all: true, includeEnded: true});
	} catch {
		return [];
	}
}

async function openLink({url, token}: ShareLink): Promise<Environment> {
	// The command line is readable for every user of this machine.
	process.title = 'longarm';
	const {resolveTarget} = await import('../resolve-target.js');
	const target = await resolveTarget(url);
	if (target.kind !== 'websocket' && target.kind !== 'unix') throw usageError('this link has no address of a server');
	return Environment.remote(url, {...target, token});
}
