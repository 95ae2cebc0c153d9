import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import type {OutputStream} from '../../src/processes/output/output-log.js';
import type {ProcessMeta} from '../../src/processes/spill/process-meta.js';
import {ProcessSpill} from '../../src/processes/spill/process-spill.js';
import type {SpillOptions} from '../../src/processes/spill/spill-options.js';
import type {SpillCursor, SpillEntry} from '../../src/processes/spill/spill-reader.js';
import {scratchDirectory} from './scratch.js';

export const STARTED_AT_MS = 1_700_000_000_000;

export function metaOf(id: string, changes: Partial<ProcessMeta> = {}): ProcessMeta {
	return {
		version: 1,
		id,
		labels: {},
		share: {observe: 'owner', drive: 'owner'},
		argv: ['sh', '-c', 'true'],
		tty: false,
		startedAtMs: STARTED_AT_MS,
		generation: 'test',
		durable: false,
		...changes,
	};
}

/** A spill in a directory of its own; closed at the end of the test. */
export function createSpill(options: SpillOptions = {}, parent = scratchDirectory()): ProcessSpill {
	const spill = ProcessSpill.create(join(parent, 'process'), metaOf('process'), options);
	onTestFinished(() => spill.close());
	return spill;
}

/** Bytes that differ from chunk to chunk and from byte to byte. */
export function bytesOf(seq: number, length: number): Buffer {
	return Buffer.from(Array.from({length}, (_, index) => (seq * 31 + index * 7) % 251));
}

export interface PlainChunk {
	readonly seq: number;
	readonly stream: OutputStream;
	readonly text: string;
}

/** The rest of the output, copied, since a reader lends its bytes only. */
export function readAll(reader: SpillCursor): PlainChunk[] {
	const chunks: PlainChunk[] = [];
	for (let chunk = reader.next(); chunk; chunk = reader.next()) {
		const {seq, stream, bytes} = chunk;
		chunks.push({seq, stream, text: Buffer.from(bytes).toString('latin1')});
	}
	reader.close();
	return chunks;
}

/** The rest of the recording; bytes as text. */
export function readEntries(reader: SpillCursor): (SpillEntry | {readonly text: string})[] {
	const entries: (SpillEntry | {readonly text: string})[] = [];
	for (let entry = reader.nextEntry(); entry; entry = reader.nextEntry()) {
		if (entry.kind !== 'output' && entry.kind !== 'input') {
			entries.push(entry);
			continue;
		}
		const {bytes, ...rest} = entry;
		entries.push({...rest, text: Buffer.from(bytes).toString('latin1')});
	}
	reader.close();
	return entries;
}
