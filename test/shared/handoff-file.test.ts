// covers: src/shared/node/handoff-file.ts, memory-file.ts, kernel-clock.ts
import {closeSync, openSync} from 'node:fs';
import {expect, test} from 'vitest';
import {HANDOFF_VERSION, HandoffReader, HandoffWriter} from '../../src/shared/node/handoff-file.js';
import {fromKernelTime, toKernelTime} from '../../src/shared/node/kernel-clock.js';

function reread(writer: HandoffWriter, state: unknown, version?: number): HandoffReader {
	const fd = writer.writeFile(state, version);
	try {
		return new HandoffReader(fd);
	} catch (error) {
		closeSync(fd);
		throw error;
	}
}

test('a state and thousands of pieces of bytes are read as they were written', () => {
	const writer = new HandoffWriter();
	const pieces = Array.from({length: 3000}, (_, index) => Buffer.alloc(index % 70, index % 256));
	const stored = pieces.map(piece => writer.store(piece));
	const joined = writer.store(...pieces);
	const large = writer.store(Buffer.alloc(3 * 1024 * 1024, 'x'), Buffer.from('end'));
	const source = reread(writer, {name: 'snow \u2744', stored});
	expect(source.state).toEqual({name: 'snow \u2744', stored});
	expect(stored.every((each, index) => source.load(each).equals(pieces[index]!))).toBe(true);
	expect(source.load(joined).equals(Buffer.concat(pieces))).toBe(true);
	expect(source.load(large).subarray(-4).toString()).toBe('xend');
	source.close();
});

test('a state of another version, and a file that is none, are refused', () => {
	expect(() => reread(new HandoffWriter(), {}, HANDOFF_VERSION + 1)).toThrow(
		`the state has the version ${HANDOFF_VERSION + 1}, and this program reads ${HANDOFF_VERSION}`,
	);
	const fd = openSync(new URL(import.meta.url), 'r');
	expect(() => new HandoffReader(fd)).toThrow('this is no state of a server');
	closeSync(fd);
	expect(() => new HandoffReader(fd)).toThrow('the state cannot be read');
});

test('a descriptor that is not open was not handed over', () => {
	const source = reread(new HandoffWriter(), {});
	expect(() => source.adopt(1_000_000)).toThrow('the descriptor 1000000 was not handed over');
	source.close();
});

test('times of the kernel are those of this program, and go on in the next one', () => {
	const now = performance.now();
	expect(fromKernelTime(toKernelTime(now))).toBeCloseTo(now, 0);
	expect(toKernelTime(now)).toBeCloseTo(Number(process.hrtime.bigint()) / 1e6, -2);
});
