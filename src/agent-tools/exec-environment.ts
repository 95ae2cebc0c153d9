import type {ProcessHost} from '../client/run/command.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {STATUS_WAIT_MS} from './exec-limits.js';

/** A machine with a name, by which a call chooses it. Behind an exec server only the shell it reports can be asked for. */
export type ExecEnvironment = ProcessHost & {readonly id: string};

/** Whether a remote executor answers. */
export async function isReachable(environment: ExecEnvironment): Promise<boolean> {
	if (environment.kind !== 'remote' || !environment.status) return true;
	let isReady = false;
	const ask = async () => {
		try {
			isReady = (await environment.status?.())?.kind === 'ready';
		} catch {
			// It could not even be asked.
		}
	};
	await waitAtMost(ask(), STATUS_WAIT_MS);
	return isReady;
}
