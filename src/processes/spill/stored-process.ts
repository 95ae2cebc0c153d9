import {closeSync, lstatSync} from 'node:fs';
import {type ExitRecord, type ProcessMeta, readExit, readMeta} from './process-meta.js';
import {cutTornTail, measureSpill, type SpillExtent} from './spill-extent.js';
import {openDescriptors} from './spill-files.js';
import {RECORD_BYTES} from './spill-record.js';

/** A process in the state directory. */
export interface StoredProcess {
	readonly id: string;
	readonly meta: ProcessMeta;
	/** Undefined while it runs, and for one whose server did not live to see it. */
	readonly exit: ExitRecord | undefined;
	readonly directory: string;
	/** Bytes of output and of its index that are kept. */
	readonly bytes: number;
	/** Milliseconds since 1970; of the last thing that is known without an exit. */
	readonly endedAtMs: number;
	/** Bytes at the end that were not whole and were cut off; 0 for a process that is written to. */
	readonly tornBytes: number;
}

/** Throws an error that says what is damaged. */
export function inspectProcess(directory: string, {mayCut}: {mayCut: boolean}): StoredProcess {
	const meta = readMeta(directory);
	const exit = readExit(directory);
	const extent = measureFiles(directory, mayCut);
	const {outBytes, asideBytes, dropped, records, firstRecord, last} = extent;
	const bytes = outBytes - dropped.bytes + asideBytes + Math.max(0, records - firstRecord) * RECORD_BYTES;
	const endedAtMs = exit?.ms ?? last?.ms ?? lstatSync(directory).mtimeMs;
	return {id: meta.id, meta, exit, directory, bytes, endedAtMs, tornBytes: mayCut ? extent.tornBytes : 0};
}

function measureFiles(directory: string, mayCut: boolean): SpillExtent {
	const files = openDescriptors(directory, mayCut ? 'write' : 'read');
	try {
		const extent = measureSpill(files);
		if (mayCut) cutTornTail(files, extent);
		return extent;
	} finally {
		for (const fd of [files.out, files.idx, files.aside]) if (fd !== undefined) closeSync(fd);
	}
}
