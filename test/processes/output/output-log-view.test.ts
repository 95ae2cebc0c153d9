// covers: src/processes/output/output-log.ts (view), src/processes/output/eviction-record.ts (StreamHead)
import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {MAX_HEAD_BYTES} from '../../../src/processes/output/eviction-record.js';
import {OutputLog, type OutputStream} from '../../../src/processes/output/output-log.js';
import type {StreamView} from '../../../src/processes/output/stream-view.js';

const STREAMS: OutputStream[] = ['stdout', 'stderr', 'pty'];
const KiB = 1024;

/** Bytes nobody else has: their position in the stream, over and over. */
function content(from: number, size: number): Uint8Array {
	return Uint8Array.from({length: size}, (_, index) => ((from + index) * 2_654_435_761) >>> 24);
}

/** Keeps everything, so that any view can be made from it. */
class Model {
	readonly #whole = new Map<OutputStream, Uint8Array[]>();
	/** In the order they came; the front goes when retention is full. */
	#retained: {stream: OutputStream; size: number}[] = [];

	total(stream: OutputStream): number {
		return (this.#whole.get(stream) ?? []).reduce((sum, bytes) => sum + bytes.length, 0);
	}

	append(stream: OutputStream, bytes: Uint8Array): void {
		this.#whole.set(stream, [...(this.#whole.get(stream) ?? []), bytes]);
		this.#retained.push({stream, size: bytes.length});
	}

	/** Forgets all but the newest so many chunks. */
	keep(chunks: number): void {
		this.#retained = this.#retained.slice(this.#retained.length - chunks);
	}

	view(stream: OutputStream): StreamView {
		const whole = Buffer.concat(this.#whole.get(stream) ?? []);
		const own = this.#retained.filter(each => each.stream === stream);
		const tailStart = whole.length - own.reduce((sum, {size}) => sum + size, 0);
		const headBytes = Math.min(MAX_HEAD_BYTES, tailStart);
		return {
			bytes: new Uint8Array(Buffer.concat([whole.subarray(0, headBytes), whole.subarray(tailStart)])),
			headBytes,
			omittedBytes: tailStart - headBytes,
			totalBytes: whole.length,
		};
	}
}

type Step =
	| {readonly kind: 'append'; readonly stream: OutputStream; readonly size: number}
	| {readonly kind: 'shed'; readonly size: number}
	| {readonly kind: 'attach' | 'deliver' | 'detach'};

const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			kind: fc.constant('append'),
			stream: fc.constantFrom(...STREAMS),
			size: fc.oneof(fc.nat(64), fc.nat(48 * KiB)),
		}),
	},
	{weight: 1, arbitrary: fc.record({kind: fc.constant('shed'), size: fc.nat(64 * KiB)})},
	{weight: 2, arbitrary: fc.record({kind: fc.constantFrom('attach', 'deliver', 'detach')})},
);

test('a view is the beginning and the end of the stream and the truth about what is between, whatever happens', () => {
	fc.assert(
		fc.property(fc.array(step, {maxLength: 40}), steps => {
			const log = new OutputLog({bytes: 96 * KiB, chunks: 12});
			const model = new Model();
			let cursor: ReturnType<OutputLog['drive']> | undefined;
			for (const next of steps) {
				if (next.kind === 'append') {
					const bytes = content(model.total(next.stream), next.size);
					model.append(next.stream, bytes);
					log.append(next.stream, bytes.slice());
				}
				if (next.kind === 'shed') log.evict(next.size);
				if (next.kind === 'attach') cursor = log.drive(() => {});
				if (next.kind === 'detach') cursor?.close();
				if (next.kind === 'deliver' && cursor?.next()) cursor.commit();
				// Eviction is tested elsewhere; this test is about the view of what is retained.
				model.keep(log.read(0).chunks.length);
				for (const stream of STREAMS) {
					const {bytes, ...numbers} = log.view(stream);
					const {bytes: expected, ...expectedNumbers} = model.view(stream);
					expect(numbers).toEqual(expectedNumbers);
					expect(Buffer.compare(bytes, expected)).toBe(0);
				}
			}
		}),
		{numRuns: 150},
	);
});

describe('a view', () => {
	test('of a stream that said nothing is empty', () => {
		const log = new OutputLog({bytes: 10, chunks: 10});
		log.append('stdout', content(0, 5));
		const nothing = {bytes: new Uint8Array(0), headBytes: 0, omittedBytes: 0, totalBytes: 0};
		expect(log.view('stderr')).toEqual(nothing);
	});

	test('is a copy: memory that the log gives back for other uses does not change it', () => {
		const released: Uint8Array[] = [];
		const log = new OutputLog({bytes: 10, chunks: 10}, {release: bytes => released.push(bytes)});
		log.append('stdout', Uint8Array.of(1, 2, 3));
		const before = log.view('stdout');
		log.append('stderr', new Uint8Array(10));
		for (const bytes of released) bytes.fill(99);
		const unchanged = {bytes: Uint8Array.of(1, 2, 3), omittedBytes: 0, totalBytes: 3};
		expect(before).toEqual({...unchanged, headBytes: 0});
		expect(log.view('stdout')).toEqual({...unchanged, headBytes: 3});
	});

	test('keeps the head of every stream apart from the flood of another', () => {
		const log = new OutputLog({bytes: 100, chunks: 100});
		log.append('stderr', content(0, 50));
		for (let count = 0; count < 100; count++) log.append('stdout', content(count * KiB, KiB));
		expect(log.view('stderr')).toEqual({bytes: content(0, 50), headBytes: 50, omittedBytes: 0, totalBytes: 50});
		expect(log.view('stdout')).toEqual({
			bytes: content(0, MAX_HEAD_BYTES),
			headBytes: MAX_HEAD_BYTES,
			omittedBytes: 100 * KiB - MAX_HEAD_BYTES,
			totalBytes: 100 * KiB,
		});
	});
});
