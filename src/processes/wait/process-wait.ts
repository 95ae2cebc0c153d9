import type {ProcessWait} from '../../protocol/methods/sharing-params.js';
import type {ManagedProcess} from '../managed-process.js';
import {readAwaitedInput} from './input-watch.js';

/** Reads what the process waits for now; settles at once unless it takes an idle time to tell. */
export async function readProcessWait(process: ManagedProcess): Promise<ProcessWait | null> {
	return process.pressure.pausedFor ?? readAwaitedInput(process);
}
