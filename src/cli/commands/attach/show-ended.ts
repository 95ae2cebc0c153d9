import type {ListedProcess} from '../../../client/process/shared-process.js';
import {EXIT} from '../../exit-codes.js';
import {OutputWriter} from '../run/attach/output-writer.js';
import type {OwnTerminal} from '../run/attach/own-terminal.js';
import type {FirstOutput} from './first-output.js';

/** Shows the last of a process that is over; settles with its exit code. */
export async function showEnded(
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
