import type {ManagedProcess} from '../processes/managed-process.js';
import {findOrphanTrees, listTreeBelow} from '../processes/tree/kill-tree.js';
import {listDescendants, type ProcessInfo} from '../processes/tree/process-tree.js';
import type {ResultOnWire} from '../protocol/methods/method-table.js';

/** An entry of `process/list`. */
export type ProcessEntry = ResultOnWire<'process/list'>['processes'][number];

/** A process as lists show it, without its clients. */
export function describeProcess(process: ManagedProcess): ProcessEntry {
	const {options, state, log, leader, sharing, terminalSize} = process;
	return {
		processId: process.id,
		state: state.kind === 'failed' ? 'closed' : state.kind,
		pid: leader?.pid ?? null,
		argv: [...options.argv],
		tty: options.tty,
		startedAtMs: process.startedAt,
		ageMs: Math.round(process.ageMs),
		outputBytes: log.totalBytes,
		exitCode: log.exit?.exitCode ?? null,
		reason: log.exit?.reason ?? null,
		descendants: listDescendantsOf(process),
		name: sharing.name ?? null,
		owner: options.owner ?? null,
		labels: {...sharing.labels},
		durable: options.isDurable ?? false,
		spilledBytes: options.spill?.bytes ?? null,
		rows: terminalSize?.rows ?? null,
		cols: terminalSize?.columns ?? null,
	};
}

/** Living processes below it; orphans of one that has ended, too. */
function listDescendantsOf({state, leader, options}: ManagedProcess): ProcessEntry['descendants'] {
	if (leader && options.isDurable && state.kind === 'running') return toDescendants(listDescendants(leader.pid));
	if (!leader || state.kind === 'lost' || options.restored) return [];
	return toDescendants(state.kind === 'running' ? listTreeBelow(leader) : findOrphanTrees(leader));
}

function toDescendants(processes: readonly ProcessInfo[]): ProcessEntry['descendants'] {
	return processes.map(({pid, parentPid, command}) => ({pid, parentPid, command}));
}
