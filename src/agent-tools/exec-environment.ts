import type {Processes} from '../client/process/process-handle.js';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
import {waitAtMost} from '../shared/async/timeout.js';
import {STATUS_WAIT_MS} from './exec-limits.js';

/** What unified exec needs of a machine, local or remote. */
export interface ExecEnvironment {
	readonly id: string;
	readonly processes: Processes;
	/** Shell, working directory and the like; asked once. */
	info(): Promise<EnvironmentInfo>;
	/** Behind an exec server only the shell it reports can be asked for. Local if absent. */
	readonly kind?: 'local' | 'remote';
	/** Whether it is there; does not wait for a connection that is being made again. Always there if absent. */
	status?(): Promise<{readonly kind: 'pending' | 'ready' | 'disconnected'}>;
}

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
