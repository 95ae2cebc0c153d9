import type {OutputLog} from '../output/output-log.js';

/** Bytes of new output that are searched chunk by chunk; of more, only the beginning and the newest part of all are. */
const MAX_NEW_BYTES = 256 * 1024;
/** Longest part of a sequence at the end of a chunk whose rest may follow in the next one. */
const MAX_SEQUENCE_BYTES = 32;
/** A reset of the terminal, or private modes that are set or reset. */
const SWITCH = new RegExp(String.raw`\u001b(?:c|\[\?([\d;]*)([hl]))`, 'g');
/** Modes that show the alternate screen while they are set. */
const ALTERNATE_SCREEN_MODES = ['47', '1047', '1049'];

interface Searched {
	/** Number of the last event whose output was searched. */
	readonly seq: number;
	readonly totalBytes: number;
	readonly isAlternate: boolean;
	/** End of the output so far. */
	readonly rest: string;
}

const searched = new WeakMap<OutputLog, Searched>();

/**
 * Whether the program on a terminal shows the alternate screen, as editors and pagers do, by the control sequences in its
 * output. Searches only output that is in memory, and each piece once.
 */
export function usesAlternateScreen(log: OutputLog): boolean {
	const before = searched.get(log);
	const seq = log.nextSeq - 1;
	if (before?.seq === seq) return before.isAlternate;
	const {totalBytes} = log;
	const isNear = before !== undefined && totalBytes - before.totalBytes <= MAX_NEW_BYTES;
	const text = isNear ? before.rest + readAfter(log, before.seq) : toText(log.view('pty').bytes);
	const isAlternate = findLastSwitch(text) ?? before?.isAlternate ?? false;
	searched.set(log, {seq, totalBytes, isAlternate, rest: text.slice(-MAX_SEQUENCE_BYTES)});
	return isAlternate;
}

function readAfter(log: OutputLog, seq: number): string {
	return log
		.read(seq)
		.chunks.map(({bytes}) => toText(bytes))
		.join('');
}

/** Whether the last switch in a text is one to the alternate screen; undefined without one. */
function findLastSwitch(text: string): boolean | undefined {
	let isAlternate: boolean | undefined;
	for (const [, modes, action] of text.matchAll(SWITCH)) {
		if (modes === undefined) isAlternate = false;
		else if (modes.split(';').some(mode => ALTERNATE_SCREEN_MODES.includes(mode))) isAlternate = action === 'h';
	}
	return isAlternate;
}

function toText(bytes: Uint8Array): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
