import {stopProcess} from '../../../environments/processes/stop-process.js';
import {writeLines} from '../../common/messages.js';
import {forEachProcess} from '../../common/processes/for-each-process.js';
import type {ProcessPlace} from '../../common/processes/open-process.js';
import {EXIT} from '../../exit-codes.js';
import {DEFAULT_GRACE_MS, reportSurvivors} from '../stop/stop-command.js';

export interface RemoveRequest extends ProcessPlace {
	/** Whether processes that have not ended are stopped. */
	readonly force: boolean;
}

/** Makes the server forget processes. */
export function removeProcesses(ids: readonly string[], request: RemoveRequest): Promise<number> {
	return forEachProcess(ids, request, async process => {
		const {environment, reference} = process;
		let code: number = EXIT.ok;
		if (request.force) {
			const stopped = await stopProcess(process, {signal: undefined, graceMs: DEFAULT_GRACE_MS});
			code = reportSurvivors(reference, stopped);
		}
		await (await environment.processes.reference(reference)).remove();
		writeLines([`${reference}: removed`]);
		return code;
	});
}
