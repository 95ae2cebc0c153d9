import type {EvictionState} from './eviction-record.js';
import type {Chunk, Exit, OutputStream} from './output-log.js';

/** Everything of a log that a log of another program needs to go on. */
export interface LogState {
	readonly chunks: readonly Chunk[];
	readonly firstOrdinal: number;
	readonly totalBytes: number;
	readonly nextSeq: number;
	readonly evictions: EvictionState;
	readonly heads: readonly (readonly [OutputStream, Uint8Array])[];
	readonly streamBytes: readonly (readonly [OutputStream, number])[];
	readonly exit: (Exit & {readonly seq: number}) | undefined;
	readonly closedSeq: number | undefined;
	/** Last event that its reader has acknowledged; undefined unless one has to. */
	readonly acknowledgedSeq: number | undefined;
	/** Last event that its driver has delivered; undefined without a driver. */
	readonly deliveredSeq: number | undefined;
}

/** A log without events. */
export const NEW_LOG: LogState = {
	chunks: [],
	firstOrdinal: 0,
	totalBytes: 0,
	nextSeq: 1,
	evictions: {entries: new Float64Array(0), total: 0},
	heads: [],
	streamBytes: [],
	exit: undefined,
	closedSeq: undefined,
	acknowledgedSeq: undefined,
	deliveredSeq: undefined,
};
