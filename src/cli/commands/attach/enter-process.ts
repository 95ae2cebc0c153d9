import type {ListedProcess} from '../../../client/process/shared-process.js';
import type {Environment} from '../../../environments/environment.js';
import {findProcess, hasClosed} from '../../../environments/processes/find-process.js';
import type {OwnTerminal} from '../run/attach/own-terminal.js';
import {type FirstOutput, readFirstOutput} from './first-output.js';
import {attachWithRole, type Seated, type WantedRole} from './take-seat.js';

/** A process as it was found: with a place at it, or over. */
export type Entrance = {readonly listed: ListedProcess; readonly first: FirstOutput['pieces']} & (
	| ({readonly kind: 'entered'} & Seated)
	| {readonly kind: 'over'}
);

/** Attaches to a process, behind the output that is shown first. */
export async function enterProcess(
	environment: Environment,
	process: Pick<ListedProcess, 'processId' | 'tty'>,
	{terminal, wanted}: {readonly terminal: OwnTerminal | undefined; readonly wanted: WantedRole},
): Promise<Entrance> {
	const {processId} = process;
	const {pieces: first, afterSeq} = await readFirstOutput(environment, process, terminal);
	// Events before the first output are not delivered again: the end may be one of them.
	const listed = await findProcess({environment, reference: processId});
	if (hasClosed(listed)) return {kind: 'over', listed, first};
	const seated = await attachWithRole(environment, processId, {wanted, afterSeq, size: terminal?.size});
	return {kind: 'entered', listed, first, ...seated};
}
