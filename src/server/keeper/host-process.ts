import type {ManagedProcess} from '../../processes/managed-process.js';
import type {OutputStream, RestoredLog} from '../../processes/output/output-log.js';
import type {ProcessTable} from '../../processes/process-table.js';
import {readExit} from '../../processes/spill/process-meta.js';
import type {HeldProcess} from './keeper-methods.js';
import {KeptSpill} from './kept-spill.js';

/**
 * A process in a table of this server that a keeper runs. Its log begins behind the output on disk, or behind the event
 * that is given: all that comes later is told by the keeper.
 */
export function hostProcess(
	table: ProcessTable,
	held: HeldProcess,
	generation: string,
	knownSeq: number | undefined,
): ManagedProcess {
	const {directory} = held;
	const spill = KeptSpill.open(directory);
	try {
		// The end is told by the keeper, too, with the output behind it.
		const exitSeq = readExit(directory)?.seq ?? Number.POSITIVE_INFINITY;
		const seq = knownSeq ?? Math.min(spill.writtenSeq, exitSeq - 1);
		spill.know(seq);
		spill.blockedOn = held.blockedOn ?? undefined;
		return addHosted(table, held, generation, spill, seq);
	} catch (error) {
		spill.close();
		throw error;
	}
}

function addHosted(
	table: ProcessTable,
	held: HeldProcess,
	generation: string,
	spill: KeptSpill,
	seq: number,
): ManagedProcess {
	const {processId: id, argv, tty, rows, cols, sandbox, sharing, startedAtMs, ageMs} = held;
	return table.addFollowed({
		id,
		argv,
		tty,
		timeLimitMs: undefined,
		keepDetachedMs: undefined,
		isSandboxed: sandbox !== 'none',
		isSandboxedWithNetwork: sandbox === 'sandboxedWithNetwork',
		isDurable: true,
		spill,
		...(rows !== null && cols !== null && {terminalSize: {rows, columns: cols}}),
		...(sharing && {sharing: {...sharing, name: sharing.name ?? undefined}}),
		restored: {
			startedAt: startedAtMs,
			ageMs,
			generation,
			log: describeLog(spill, seq),
			state: {kind: 'starting'},
		},
	});
}

function describeLog(spill: KeptSpill, seq: number): RestoredLog {
	return {
		nextSeq: seq + 1,
		totalBytes: seq === 0 ? 0 : spill.knownBytes,
		streamBytes: () => countStreams(spill, seq),
	};
}

/** Bytes of each stream up to an event. */
function countStreams(spill: KeptSpill, throughSeq: number): Map<OutputStream, number> {
	const counts = new Map<OutputStream, number>();
	const reader = spill.openReader(0);
	try {
		for (let chunk = reader.next(); chunk && chunk.seq <= throughSeq; chunk = reader.next()) {
			counts.set(chunk.stream, (counts.get(chunk.stream) ?? 0) + chunk.bytes.length);
		}
	} finally {
		reader.close();
	}
	return counts;
}
