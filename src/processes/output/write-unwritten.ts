import type {Chunk, Exit} from './log-types.js';
import type {OutputSpill} from './output-spill.js';

/** Hands the disk the events that an earlier program could not: all of them are in memory still. */
export function writeUnwritten(
	spill: OutputSpill,
	chunks: readonly Chunk[],
	exit: (Exit & {readonly seq: number}) | undefined,
	closedSeq: number | undefined,
): void {
	const {writtenSeq} = spill;
	let unwrittenExit = exit && exit.seq > writtenSeq ? exit : undefined;
	for (const chunk of chunks) {
		if (chunk.seq <= writtenSeq) continue;
		// Output of descendants may come behind the exit.
		if (unwrittenExit && unwrittenExit.seq < chunk.seq) {
			spill.recordExit(unwrittenExit);
			unwrittenExit = undefined;
		}
		spill.append(chunk);
	}
	if (unwrittenExit) spill.recordExit(unwrittenExit);
	if (closedSeq !== undefined && closedSeq > writtenSeq) spill.recordClose(closedSeq);
}
