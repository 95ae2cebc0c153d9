import {fstatSync, ftruncateSync} from 'node:fs';
import type {SpillDescriptors} from './spill-files.js';
import {SpillIndex} from './spill-index.js';
import {RECORD_BYTES, type SpillRecord} from './spill-record.js';

/** Output that was dropped from the beginning: everything up to an event. */
export interface DroppedOutput {
	readonly seq: number;
	readonly bytes: number;
}

export const NOTHING_DROPPED: DroppedOutput = {seq: 0, bytes: 0};

/** How much of the files of a spill is whole. */
export interface SpillExtent {
	/** Records, the header included; 0 if even that is missing. */
	readonly records: number;
	readonly outBytes: number;
	readonly asideBytes: number;
	/** Bytes behind that, of a write that was cut short. */
	readonly tornBytes: number;
	readonly dropped: DroppedOutput;
	/** Index of the oldest record that was not dropped. */
	readonly firstRecord: number;
	readonly last: SpillRecord | undefined;
	/** Time of the header. */
	readonly startedAtMs: number;
}

/** Files that were just made: nothing but the header. */
export function newExtent(startedAtMs: number): SpillExtent {
	const nothing = {outBytes: 0, asideBytes: 0, tornBytes: 0, dropped: NOTHING_DROPPED, last: undefined};
	return {...nothing, records: 1, firstRecord: 1, startedAtMs: Math.floor(startedAtMs)};
}

/** Finds out what is whole. Throws if the beginning is damaged: then nothing of the files can be trusted. */
export function measureSpill(files: SpillDescriptors): SpillExtent {
	const outSize = fstatSync(files.out).size;
	const indexSize = fstatSync(files.idx).size;
	const asideBytes = files.aside === undefined ? 0 : fstatSync(files.aside).size;
	const index = new SpillIndex(files.idx);
	if (indexSize < RECORD_BYTES) {
		const tornBytes = indexSize + outSize;
		const empty = {records: 0, outBytes: 0, firstRecord: 1, last: undefined, startedAtMs: 0};
		return {...empty, asideBytes, tornBytes, dropped: NOTHING_DROPPED};
	}
	const header = index.read(0);
	if (header?.kind !== 'dropped' || header.offset > outSize) throw new Error('the index of its output is damaged');
	const dropped = {seq: header.seq, bytes: header.offset};
	// A crash of the machine may leave records of zeros, or records of output that is not there.
	const decoded = (index.findLast(1, Math.floor(indexSize / RECORD_BYTES), () => true)?.index ?? 0) + 1;
	const firstRecord = dropped.seq === 0 ? 1 : index.find(1, decoded, ({seq}) => seq > dropped.seq);
	const missing = index.findOutput(firstRecord, decoded, ({offset, length}) => offset + length > outSize);
	const records = missing?.index ?? decoded;
	const output = index.findLast(firstRecord, records, ({kind}) => kind === 'output')?.record;
	const outBytes = output ? output.offset + output.length : dropped.bytes;
	const tornBytes = indexSize - records * RECORD_BYTES + outSize - outBytes;
	const last = records > 1 ? index.read(records - 1) : undefined;
	return {records, outBytes, asideBytes, tornBytes, dropped, firstRecord, last, startedAtMs: header.ms};
}

/** Cuts off what is not whole. Needs descriptors to write. */
export function cutTornTail(files: SpillDescriptors, {records, outBytes, tornBytes}: SpillExtent): void {
	if (tornBytes === 0) return;
	ftruncateSync(files.idx, records * RECORD_BYTES);
	ftruncateSync(files.out, outBytes);
}
