import type {ListedProcess} from '../../../client/process/shared-process.js';
import {findProcess, hasClosed} from '../../../environments/processes/find-process.js';
import {type ProcessPlace, withProcess} from '../../common/processes/open-process.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {OutputWriter} from '../run/attach/output-writer.js';
import {OwnTerminal} from '../run/attach/own-terminal.js';
import {type FirstOutput, readFirstOutput} from './first-output.js';
import {SharedAttachment} from './shared-attachment.js';
import {attachWithRole, type WantedRole} from './take-seat.js';

export interface AttachCommandOptions extends ProcessPlace {
	readonly observe: boolean;
	/** Whether the driver, if there is one, loses the seat. */
	readonly take: boolean;
}

/** Attaches our streams to a process that runs already; settles with its exit code, or with 0 when we leave. */
export function attachCommand(id: string, request: AttachCommandOptions): Promise<number> {
	const {observe, take} = request;
	if (observe && take) throw usageError('--observe and --take exclude each other');
	const wanted: WantedRole = observe ? 'observe' : take ? 'take' : 'drive-if-free';
	return withProcess(id, request, async given => {
		const {environment} = given;
		const {processId, tty} = await findProcess(given);
		const terminal = tty && process.stdin.isTTY ? new OwnTerminal() : undefined;
		try {
			const first = await readFirstOutput(environment, {processId, tty}, terminal);
			// Events before the first output are not delivered again: the end may be one of them.
			const listed = await findProcess({environment, reference: processId});
			if (hasClosed(listed)) return await showEnded(listed, first.pieces, terminal);
			const {afterSeq} = first;
			const seating = {wanted, afterSeq, size: terminal?.size};
			const {handle, isSeatTaken} = await attachWithRole(environment, processId, seating);
			const attachment = new SharedAttachment(environment, handle, {listed, terminal});
			return await attachment.run(first.pieces, {isSeatTaken});
		} finally {
			terminal?.restore();
		}
	});
}

/** Shows the last of a process that is over; settles with its exit code. */
async function showEnded(
	{exitCode}: ListedProcess,
	pieces: FirstOutput['pieces'],
	terminal: OwnTerminal | undefined,
): Promise<number> {
	const writer = new OutputWriter();
	for (const {stream, bytes} of pieces) {
		terminal?.observeOutput(bytes);
		void writer.write(stream, bytes);
	}
	await writer.flush();
	terminal?.restore();
	const text = exitCode === null ? 'its end is not known' : `it had ended with code ${exitCode}`;
	writer.say(`${terminal ? '\r\n' : ''}longarm: ${text}\n`);
	await writer.flush();
	return exitCode ?? EXIT.notRun;
}
