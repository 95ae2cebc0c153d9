// covers: src/processes/spill/spill-extent.ts, src/processes/spill/stored-process.ts
import {copyFileSync, cpSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {ProcessSpill} from '../../../src/processes/spill/process-spill.js';
import {RECORD_BYTES} from '../../../src/processes/spill/spill-record.js';
import {inspectProcess} from '../../../src/processes/spill/stored-process.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {bytesOf, createSpill, readAll, readEntries} from '../../helpers/spills.js';

const LENGTHS = [5, 0, 12, 1, 30];
const ENDS = LENGTHS.map((_, index) => LENGTHS.slice(0, index + 1).reduce((sum, length) => sum + length, 0));

/** Some chunks, with input and a resize between them. */
function writeSome(): ProcessSpill {
	const spill = createSpill();
	LENGTHS.forEach((length, index) => {
		spill.append({seq: index + 1, stream: 'stdout', bytes: bytesOf(index + 1, length)});
		if (index === 1) spill.recordInput(Buffer.from('typed'));
		if (index === 2) spill.recordResize(10, 20);
	});
	spill.close();
	return spill;
}

/** Files of the same content, to be cut. */
function copyOf({directory}: {directory: string}): string {
	const copy = join(scratchDirectory(), 'process');
	cpSync(directory, copy, {recursive: true});
	return copy;
}

/** Chunks of which the index and all bytes are there. */
function wholeChunks(indexBytes: number, outBytes: number): number[] {
	const records = Math.floor(indexBytes / RECORD_BYTES);
	// The header, two chunks, input, a chunk, a resize, two chunks.
	const seqs = [0, 1, 2, 2, 3, 3, 4, 5].slice(0, records);
	return [1, 2, 3, 4, 5].filter(seq => seqs.includes(seq) && ENDS[seq - 1]! <= outBytes);
}

test.each(['idx', 'out'])(
	'%s that was cut at any byte is read, cut and continued behind its last whole chunk',
	name => {
		const spill = writeSome();
		const sizes = {idx: statSync(join(spill.directory, 'idx')).size, out: statSync(join(spill.directory, 'out')).size};
		for (let size = 0; size <= sizes[name as 'idx' | 'out']; size++) {
			const directory = copyOf(spill);
			truncateSync(join(directory, name), size);
			const cut = {...sizes, [name]: size};
			const seqs = wholeChunks(cut.idx, cut.out);
			const last = seqs.at(-1) ?? 0;
			const expected = seqs.map(seq => bytesOf(seq, LENGTHS[seq - 1]!).toString('latin1'));
			const ended = ProcessSpill.openEnded(directory);
			expect(readAll(ended.openReader(0)).map(({text}) => text)).toEqual(expected);
			expect(ended.writtenSeq).toBe(last);
			const before = statSync(join(directory, 'idx')).size + statSync(join(directory, 'out')).size;
			const {tornBytes} = inspectProcess(directory, {mayCut: true});
			const after = statSync(join(directory, 'idx')).size + statSync(join(directory, 'out')).size;
			expect([tornBytes, statSync(join(directory, 'idx')).size % RECORD_BYTES]).toEqual([before - after, 0]);
			expect(statSync(join(directory, 'out')).size).toBe(last === 0 ? 0 : ENDS[last - 1]);
			expect(inspectProcess(directory, {mayCut: true}).tornBytes).toBe(0);
			const again = ProcessSpill.reopen(directory);
			expect(again.writtenSeq).toBe(last);
			again.append({seq: last + 1, stream: 'stderr', bytes: Buffer.from('more')});
			expect(readAll(again.openReader(0)).map(({text}) => text)).toEqual([...expected, 'more']);
			again.close();
			rmSync(directory, {recursive: true});
		}
	},
);

test('bytes behind the last record, and a record of zeros, are cut off', () => {
	const spill = writeSome();
	const directory = copyOf(spill);
	for (const name of ['idx', 'out']) {
		const path = join(directory, name);
		writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.alloc(70)]));
	}
	expect(inspectProcess(directory, {mayCut: false}).tornBytes).toBe(0);
	expect(inspectProcess(directory, {mayCut: true}).tornBytes).toBe(140);
	for (const name of ['idx', 'out']) {
		expect(readFileSync(join(directory, name))).toEqual(readFileSync(join(spill.directory, name)));
	}
});

test('input whose last bytes are missing is read as far as it is there', () => {
	const directory = copyOf(writeSome());
	truncateSync(join(directory, 'in'), 3);
	const entries = readEntries(ProcessSpill.openEnded(directory).openReader(1)) as {kind: string; text?: string}[];
	expect(entries.map(({kind, text}) => [kind, text?.length])).toEqual([
		['output', 0],
		['input', 3],
		['output', 12],
		['resize', undefined],
		['output', 1],
		['output', 30],
	]);
});

test('an index with a damaged beginning is refused and nothing is cut', () => {
	const directory = copyOf(writeSome());
	const index = join(directory, 'idx');
	copyFileSync(index, `${index}.copy`);
	writeFileSync(index, Buffer.alloc(64, 0xff));
	const message = 'the index of its output is damaged';
	expect(() => ProcessSpill.openEnded(directory)).toThrow(message);
	expect(() => ProcessSpill.reopen(directory)).toThrow(message);
	expect(() => inspectProcess(directory, {mayCut: true})).toThrow(message);
	expect(statSync(index).size).toBe(64);
});

test('a record in the middle that is damaged ends the reading there', () => {
	const directory = copyOf(writeSome());
	const index = join(directory, 'idx');
	const content = readFileSync(index);
	content.fill(0xff, 4 * RECORD_BYTES, 5 * RECORD_BYTES);
	writeFileSync(index, content);
	const chunks = readAll(ProcessSpill.openEnded(directory).openReader(0));
	expect(chunks.map(({seq}) => seq)).toEqual([1, 2]);
});
