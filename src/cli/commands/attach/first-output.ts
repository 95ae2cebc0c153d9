import {isatty} from 'node:tty';
import type {OutputStream} from '../../../client/process/process-handle.js';
import type {ListedProcess, Screen} from '../../../client/process/shared-process.js';
import {RejectedError} from '../../../client/session/client-errors.js';
import type {Environment} from '../../../environments/environment.js';
import {INVALID_PARAMS} from '../../../protocol/wire/error-codes.js';
import {LongarmError} from '../../../shared/errors.js';
import {STDOUT} from '../run/attach/output-writer.js';
import type {OwnTerminal, WindowSize} from '../run/attach/own-terminal.js';
import {toColouredLine} from '../screen/coloured-line.js';

/** Lines of output that are shown first where there is no screen. */
const FIRST_LINES = 20;
const ESCAPE = '\u001B';
const CLEAR = `${ESCAPE}[H${ESCAPE}[2J`;

/** Output from before we came. */
export interface FirstOutput {
	readonly pieces: readonly {readonly stream: OutputStream; readonly bytes: Uint8Array}[];
	/** Events after this one are still to be shown. */
	readonly afterSeq: number;
}

/** The present screen of the terminal if we have one, else the last lines of the output. */
export async function readFirstOutput(
	environment: Environment,
	{processId, tty}: Pick<ListedProcess, 'processId' | 'tty'>,
	terminal: OwnTerminal | undefined,
): Promise<FirstOutput> {
	const process = await environment.processes.reference(processId);
	try {
		if (tty && terminal && isatty(STDOUT)) {
			const screen = await process.screen({format: 'ansi'});
			return {pieces: [{stream: 'pty', bytes: Buffer.from(drawScreen(screen, terminal.size))}], afterSeq: screen.seq};
		}
	} catch (error) {
		if (!isUnsupported(error)) throw error;
	}
	const pieces: {stream: OutputStream; bytes: Uint8Array}[] = [];
	let afterSeq = 0;
	try {
		for await (const entry of process.logs({tail: FIRST_LINES})) {
			if (entry.kind !== 'output') continue;
			afterSeq = entry.seq;
			pieces.push({stream: entry.stream, bytes: entry.bytes});
		}
	} catch (error) {
		if (!isUnsupported(error)) throw error;
	}
	return {pieces, afterSeq};
}

/** Sequences that draw a screen on ours; of one that is higher than ours the last lines. */
export function drawScreen(screen: Screen, {rows}: WindowSize): string {
	const {lines, cursor, alternate} = screen;
	const hidden = Math.max(0, screen.rows - rows);
	const row = Math.max(0, cursor.row - hidden);
	return [
		alternate ? `${ESCAPE}[?1049h` : '',
		CLEAR,
		lines.slice(hidden).map(toColouredLine).join('\r\n'),
		`${ESCAPE}[${row + 1};${cursor.col + 1}H`,
		cursor.isVisible ? '' : `${ESCAPE}[?25l`,
	].join('');
}

/** Faults of the caller have a code of their own. */
function isUnsupported(error: unknown): boolean {
	if (error instanceof LongarmError) return error.code === 'NOT_SUPPORTED';
	return error instanceof RejectedError && error.code === INVALID_PARAMS && error.errorCode === undefined;
}
