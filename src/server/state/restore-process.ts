import {ManagedProcess} from '../../processes/managed-process.js';
import type {Retention} from '../../processes/output/output-log.js';
import type {ProcessState, RestoredProcess} from '../../processes/process-options.js';
import type {EndedSpill} from '../../processes/spill/ended-spill.js';
import type {StoredProcess} from '../../processes/spill/stored-process.js';

/** A process of an earlier server, with its output on disk; one without an exit was lost with its server. */
export function restoreProcess(stored: StoredProcess, spill: EndedSpill, retention: Retention): ManagedProcess {
	const {meta} = stored;
	return new ManagedProcess(
		{
			id: stored.id,
			argv: meta.argv,
			tty: meta.tty,
			retention,
			timeLimitMs: undefined,
			keepDetachedMs: undefined,
			sharing: {name: meta.name, labels: meta.labels, observe: meta.share.observe, drive: meta.share.drive},
			owner: meta.owner,
			isDurable: meta.durable,
			terminalSize: meta.rows && meta.cols ? {rows: meta.rows, columns: meta.cols} : undefined,
			spill,
			restored: toRestored(stored, spill),
		},
		{exited: () => {}, closed: () => {}},
	);
}

function toRestored({meta}: StoredProcess, spill: EndedSpill): RestoredProcess {
	const {exit, outputBytes, nextSeq} = spill;
	// A server that ended in between has not seen the end of the streams, and there is nothing more to come.
	const closedSeq = spill.closedSeq ?? nextSeq;
	return {
		startedAt: meta.startedAtMs,
		ageMs: Math.max(0, Date.now() - meta.startedAtMs),
		generation: meta.generation,
		log: {
			nextSeq: Math.max(nextSeq, closedSeq + 1),
			totalBytes: outputBytes,
			streamBytes: () => countBytes(spill),
			exit,
			closedSeq,
		},
		state: toState(meta.pid, exit?.exitCode),
	};
}

function toState(
	pid: number | undefined,
	exitCode: number | undefined,
): Extract<ProcessState, {kind: 'closed' | 'lost'}> {
	const leader = pid === undefined ? undefined : {pid, tag: undefined};
	if (exitCode === undefined || !leader) return {kind: 'lost', leader};
	return {kind: 'closed', leader, exitCode};
}

/** Bytes of each stream, by a look at the whole index. */
function countBytes(spill: EndedSpill): ReadonlyMap<'stdout' | 'stderr' | 'pty', number> {
	const counts = new Map<'stdout' | 'stderr' | 'pty', number>();
	const reader = spill.openReader(0);
	try {
		for (let chunk = reader.next(); chunk; chunk = reader.next()) {
			counts.set(chunk.stream, (counts.get(chunk.stream) ?? 0) + chunk.bytes.length);
		}
	} finally {
		reader.close();
	}
	return counts;
}
