// covers: src/processes/spill/spill-index.ts (files that are mostly a hole)
import {closeSync, ftruncateSync, openSync, statSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {measureSpill} from '../../../src/processes/spill/spill-extent.js';
import {openDescriptors} from '../../../src/processes/spill/spill-files.js';
import {SpillIndex} from '../../../src/processes/spill/spill-index.js';
import {encodeRecord, RECORD_BYTES} from '../../../src/processes/spill/spill-record.js';
import {scratchDirectory} from '../../helpers/scratch.js';

/** More than can be read in the time of a test. */
const HOLE_BYTES = 16 * 1024 ** 3;

/** Files of a process whose index is a header and a hole, and after it, if wanted, one more record. */
function sparseFiles({hasLast}: {hasLast: boolean}) {
	const directory = scratchDirectory();
	for (const name of ['out', 'idx']) closeSync(openSync(join(directory, name), 'w'));
	const fd = openSync(join(directory, 'idx'), 'r+');
	const record = Buffer.alloc(RECORD_BYTES);
	encodeRecord(record, 0, {kind: 'dropped', seq: 0, ms: 1, offset: 0, length: 0, stream: undefined});
	writeSync(fd, record, 0, RECORD_BYTES, 0);
	ftruncateSync(fd, HOLE_BYTES);
	if (hasLast) {
		encodeRecord(record, 0, {kind: 'closed', seq: 1, ms: 1, offset: 0, length: 0, stream: undefined});
		writeSync(fd, record, 0, RECORD_BYTES, HOLE_BYTES);
	}
	closeSync(fd);
	expect(statSync(join(directory, 'idx')).blocks).toBeLessThan(1000);
	return openDescriptors(directory, 'read');
}

test.each([false, true])(
	'an index that is mostly a hole is damaged, and not read to its end (last record: %s)',
	hasLast => {
		const files = sparseFiles({hasLast});
		expect(() => measureSpill(files)).toThrow('the index of its output is damaged');
	},
);

test('a search that begins in a hole ends', () => {
	const {idx} = sparseFiles({hasLast: true});
	const count = HOLE_BYTES / RECORD_BYTES;
	expect(() => new SpillIndex(idx).firstOutput(1, count)).toThrow('damaged');
});
