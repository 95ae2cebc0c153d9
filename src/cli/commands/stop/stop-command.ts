import {type Stopped, type StopSettings, stopProcess} from '../../../environments/processes/stop-process.js';
import {writeLines, writeMessage} from '../../common/messages.js';
import {forEachProcess} from '../../common/processes/for-each-process.js';
import type {ProcessPlace} from '../../common/processes/open-process.js';
import {parseTimeOption} from '../../common/times.js';
import {EXIT, usageError} from '../../exit-codes.js';

/** Time between asking a process to end and killing it. */
export const DEFAULT_GRACE_MS = 10_000;

export interface StopRequest extends ProcessPlace {
	readonly signal: string | undefined;
	readonly grace: string | undefined;
}

/** Ends processes and tells how each has ended. */
export async function stop(ids: readonly string[], request: StopRequest): Promise<number> {
	const settings: StopSettings = {
		signal: request.signal === undefined ? undefined : readSignal(request.signal),
		graceMs: parseTimeOption('--grace', request.grace) ?? DEFAULT_GRACE_MS,
	};
	return forEachProcess(ids, request, async process => {
		const stopped = await stopProcess(process, settings);
		writeLines([`${process.reference}: ${describeEnd(stopped)}`]);
		return reportSurvivors(process.reference, stopped);
	});
}

/** `INT` for `int` and `SIGINT`. */
function readSignal(text: string): string {
	const name = text.toUpperCase().replace(/^SIG/, '');
	if (!/^[A-Z][A-Z0-9+-]*$/.test(name)) throw usageError(`--signal ${text}: expected a name such as INT or SIGHUP`);
	return name;
}

function describeEnd({wasOver, exitCode}: Stopped): string {
	const how = exitCode === undefined ? '' : ` with code ${exitCode}`;
	return wasOver ? `had ended${how}` : `ended${how}`;
}

/** Says what is still alive; returns the exit code for it. */
export function reportSurvivors(reference: string, {survivors}: Stopped): number {
	if (survivors.length === 0) return EXIT.ok;
	writeMessage(
		`error: ${reference}: ${survivors.length} of its processes could not be ended`,
		...survivors.map(({pid, command}) => `  ${pid}  ${command}`),
	);
	return EXIT.failed;
}
