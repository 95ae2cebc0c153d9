import {leftBehindBy, treeBelow} from '../../processes/end-tree.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {ProcessInfo} from '../../processes/process-tree.js';
import type {ResultOnWire} from '../../protocol/methods.js';

type Entry = ResultOnWire<'process/list'>['processes'][number];

/** A process as `process/list` shows it. */
export function describeProcess(process: ManagedProcess): Entry {
	const {options, state, log, leader} = process;
	return {
		processId: process.id,
		state: state.kind === 'failed' ? 'closed' : state.kind,
		pid: leader?.pid ?? null,
		argv: [...options.argv],
		tty: options.tty,
		startedAtMs: process.startedAt,
		ageMs: Date.now() - process.startedAt,
		outputBytes: log.totalBytes,
		exitCode: log.exit?.exitCode ?? null,
		reason: log.exit?.reason ?? null,
		descendants: leader ? shown(state.kind === 'running' ? treeBelow(leader) : leftBehindBy(leader)) : [],
	};
}

function shown(processes: readonly ProcessInfo[]): Entry['descendants'] {
	return processes.map(({pid, parentPid, command}) => ({pid, parentPid, command}));
}
