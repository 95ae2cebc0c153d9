import type {HandoffSink, HandoffSource, StoredBytes} from '../../shared/node/handoff-file.js';
import {fromKernelTime, toKernelTime} from '../../shared/node/kernel-clock.js';
import type {ChildHandle, KernelExit, TerminalSize} from '../backends/backend.js';
import type {ManagedProcess, ProcessOptions, ProcessState} from '../managed-process.js';
import type {EndReason} from '../output/output-log.js';
import type {TimerState} from '../process-timers.js';
import type {StdinQueue, StdinState} from '../stdin-queue.js';
import type {ProcessRoot} from '../tree/subreaper.js';
import type {LogRecord} from './log-record.js';

/** A managed process in a handoff. Times are those of the kernel. */
export interface ProcessRecord {
	readonly options: Omit<ProcessOptions, 'retention' | 'spill' | 'restored'>;
	readonly spill?: StoredSpillRecord | undefined;
	/** Size of the terminal now. */
	readonly terminalSize?: TerminalSize | undefined;
	/** The date. */
	readonly startedAt: number;
	readonly createdAt: number;
	readonly phase:
		| {readonly kind: 'running'; readonly child: ChildHandle}
		| {readonly kind: 'exited'; readonly child: ChildHandle; readonly exitCode: number}
		| {readonly kind: 'closed'; readonly leader: ProcessRoot; readonly exitCode: number};
	readonly endReason?: EndReason | undefined;
	readonly isKilled: boolean;
	/** Reaped, but not in the log yet. */
	readonly unreportedExit?: KernelExit | undefined;
	readonly timers: readonly TimerState[];
	readonly pausedMs: number;
	readonly stdin?: StdinRecord | undefined;
	readonly log: LogRecord;
}

/** Output on disk in a handoff: the files are opened again. */
export interface StoredSpillRecord {
	readonly directory: string;
	readonly maxBytes?: number | undefined;
	readonly onFull?: 'pause' | 'dropOldest' | undefined;
	/** Nothing more is written. */
	readonly isEnded: boolean;
}

/** A process table in a handoff. */
export interface TableRecord {
	readonly processes: readonly ProcessRecord[];
	/** Leaders of processes that were removed, and may have left orphans. */
	readonly removedLeaders: readonly ProcessRoot[];
}

/** A queue of standard input in a handoff. */
export interface StdinRecord extends Omit<StdinState, 'unwritten' | 'waiting'> {
	readonly unwritten: StoredBytes;
	readonly waiting: readonly {readonly bytes: StoredBytes; readonly writeId?: string | undefined}[];
}

function storeStdin({unwritten, waiting, ...rest}: StdinState, sink: HandoffSink): StdinRecord {
	return {
		...rest,
		unwritten: sink.store(...unwritten),
		waiting: waiting.map(({bytes, writeId}) => ({bytes: sink.store(bytes), writeId})),
	};
}

export function loadStdin({unwritten, waiting, ...rest}: StdinRecord, source: HandoffSource): StdinState {
	return {
		...rest,
		unwritten: [source.load(unwritten)],
		waiting: waiting.map(({bytes, writeId}) => ({bytes: source.load(bytes), writeId})),
	};
}

/** Facts about a process that do not concern its end; undefined if it was not started, or is found on disk again. */
export function storeProcess(
	{options: all, state, terminalSize, startedAt, pressure: {pausedMs}}: ManagedProcess,
	input: StdinQueue | undefined,
	sink: HandoffSink,
):
	| Pick<ProcessRecord, 'options' | 'spill' | 'terminalSize' | 'startedAt' | 'phase' | 'pausedMs' | 'stdin'>
	| undefined {
	const {retention: _, spill, restored, ...options} = all;
	const phase = restored ? undefined : storePhase(state, sink);
	if (!phase) return undefined;
	const stdin = input && storeStdin(input.handOver(), sink);
	return {options, spill: spill?.handOver(), terminalSize, startedAt, phase, pausedMs, stdin};
}

/** Keeps the descriptors of a child open. Undefined for a process that is not run here. */
function storePhase(state: ProcessState, sink: HandoffSink): ProcessRecord['phase'] | undefined {
	if (state.kind === 'starting' || state.kind === 'failed' || state.kind === 'lost') return undefined;
	if (state.kind === 'closed') return {...state, leader: storeRoot(state.leader)};
	// One that another program runs is found again there.
	const child = state.child.handOver?.();
	if (!child) return undefined;
	for (const fd of descriptorsOf(child)) sink.keep(fd);
	return {...state, child};
}

export function loadChild(handle: ChildHandle, source: HandoffSource): ChildHandle {
	for (const fd of descriptorsOf(handle)) source.adopt(fd);
	return handle;
}

function descriptorsOf({outputs, stdinFd, heldFd}: ChildHandle): number[] {
	return [...outputs.map(({fd}) => fd), stdinFd, heldFd].filter(fd => fd !== undefined);
}

/** With the time of the kernel. */
export function storeRoot({pid, tag, spawnedAt}: ProcessRoot): ProcessRoot {
	return {pid, tag, ...(spawnedAt !== undefined && {spawnedAt: toKernelTime(spawnedAt)})};
}

export function loadRoot({pid, tag, spawnedAt}: ProcessRoot): ProcessRoot {
	return {pid, tag, ...(spawnedAt !== undefined && {spawnedAt: fromKernelTime(spawnedAt)})};
}
