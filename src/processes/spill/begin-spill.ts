import {cutTornTail, measureSpill, NOTHING_DROPPED, type SpillExtent} from './spill-extent.js';
import type {SpillDescriptors} from './spill-files.js';
import {encodeRecord, RECORD_BYTES} from './spill-record.js';
import {writeFully} from './state-files.js';

/** The time of the start of this program, which has just begun, and the time since. */
export function presentMs(): number {
	return performance.timeOrigin + performance.now();
}

/** Cuts off what is torn; what was never begun is begun. */
export function repair(descriptors: SpillDescriptors, nowMs: number): SpillExtent {
	const extent = measureSpill(descriptors);
	cutTornTail(descriptors, extent);
	if (extent.records > 0) return extent;
	writeHeader(descriptors, nowMs);
	return measureSpill(descriptors);
}

export function writeHeader({idx}: SpillDescriptors, ms: number): void {
	const header = Buffer.alloc(RECORD_BYTES);
	const {seq, bytes} = NOTHING_DROPPED;
	encodeRecord(header, 0, {kind: 'dropped', stream: undefined, length: 0, seq, offset: bytes, ms: Math.floor(ms)});
	writeFully(idx, header, 0);
}
