import {hideProcess} from '../../../processes/backends/linux/hide-process.js';
import {LongarmError} from '../../../shared/errors.js';
import {HandoffReader} from '../../../shared/node/handoff-file.js';
import {adoptInstanceId} from '../../../shared/node/instance-id.js';
import type {ServeHandoff, ServeState} from './serve-handoff.js';

/** Reads the state that another program has left for this process, and keeps its descriptors from other programs. */
export function takeHandoff(fd: number): ServeHandoff {
	// There are children, and the kernel has opened this process to them when it became this program.
	hideProcess();
	const source = new HandoffReader(fd);
	source.adopt(fd);
	const state = source.state as ServeState;
	if (state.pid !== process.pid) {
		throw new LongarmError('UPGRADE_FAILED', {message: 'the state is that of another process'});
	}
	if (state.listeningFd !== undefined) source.adopt(state.listeningFd);
	const {lifeline} = state.subreaper.watchdog;
	if (lifeline !== undefined) source.adopt(lifeline);
	adoptInstanceId(state.instanceId);
	return {state, source};
}
