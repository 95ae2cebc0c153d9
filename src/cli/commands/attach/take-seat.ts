import type {ProcessHandle} from '../../../client/process/process-handle.js';
import type {ScreenSize} from '../../../client/process/shared-process.js';
import {RejectedError} from '../../../client/session/client-errors.js';
import type {Environment} from '../../../environments/environment.js';

/** Role that was asked for on the command line. */
export type WantedRole = 'observe' | 'take' | 'drive-if-free';

/** Refusals that leave the role of an observer. */
const NOT_THE_DRIVER: ReadonlySet<string | undefined> = new Set(['NOT_DRIVER', 'SCOPE_MISSING']);

interface Seating {
	readonly wanted: WantedRole;
	/** Later events are delivered. */
	readonly afterSeq: number;
	readonly size: ScreenSize | undefined;
}

export interface Seated {
	readonly handle: ProcessHandle;
	/** The seat was wanted and is another client's. */
	readonly isSeatTaken: boolean;
}

/** Attaches with the role that was asked for; one that is only wished for may be an observer's. */
export async function attachWithRole(
	environment: Environment,
	processId: string,
	{wanted, afterSeq, size}: Seating,
): Promise<Seated> {
	const options = {afterSeq, backpressure: true};
	if (wanted !== 'observe') {
		try {
			const takeover = wanted === 'take';
			const driving = {...options, role: 'drive', takeover, ...(size && {size})} as const;
			return {handle: await environment.attach(processId, driving), isSeatTaken: false};
		} catch (error) {
			if (wanted === 'take' || !isNotDriver(error)) throw error;
		}
	}
	const handle = await environment.attach(processId, {...options, role: 'observe'});
	return {handle, isSeatTaken: wanted !== 'observe'};
}

export function isNotDriver(error: unknown): boolean {
	return error instanceof RejectedError && NOT_THE_DRIVER.has(error.errorCode);
}
