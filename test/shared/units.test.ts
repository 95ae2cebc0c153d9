import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {
	formatDuration,
	formatSize,
	MAX_TIMER_MS,
	parseDuration,
	parseSize,
	parseTimeValue,
} from '../../src/shared/units.js';

/** Whole numbers of which many are round in some unit. */
const amount = (units: readonly number[]): fc.Arbitrary<number> =>
	fc
		.tuple(fc.oneof(fc.nat(100), fc.maxSafeNat()), fc.constantFrom(1, ...units))
		.map(([count, unit]) => count * unit)
		.filter(Number.isSafeInteger);

describe('a size', () => {
	test('that was printed is read as the same number of bytes', () => {
		fc.assert(
			fc.property(amount([1024, 1024 ** 2, 1024 ** 3]), bytes => {
				expect(parseSize(formatSize(bytes))).toBe(bytes);
			}),
		);
	});

	test.each([
		['0', 0],
		['1048576', 1048576],
		['1048576b', 1048576],
		['512KiB', 512 * 1024],
		['512 kib', 512 * 1024],
		['1.5MiB', 1.5 * 1024 ** 2],
		['2m', 2 * 1024 ** 2],
		[' 3G ', 3 * 1024 ** 3],
	])('%j is %i bytes', (text, bytes) => {
		expect(parseSize(text)).toBe(bytes);
	});

	test.each([
		[0, '0B'],
		[1023, '1023B'],
		[1024, '1KiB'],
		[1536, '1536B'],
		[1024 ** 2, '1MiB'],
		[5 * 1024 ** 3, '5GiB'],
	])('%i bytes are printed as %j', (bytes, text) => {
		expect(formatSize(bytes)).toBe(text);
	});

	test.each([
		'',
		'KiB',
		'-1',
		'+1',
		'1e3',
		'0x10',
		'.5',
		'1.',
		'1,5',
		'1KB',
		'1 2',
		'1s',
		'constructor',
		'1constructor',
		'9007199254740992',
	])('%j is none', text => {
		expect(parseSize(text)).toBeUndefined();
	});
});

describe('a duration', () => {
	test('that was printed is read as the same number of milliseconds', () => {
		fc.assert(
			fc.property(amount([1000, 60_000, 3_600_000]), ms => {
				expect(parseDuration(formatDuration(ms))).toBe(ms);
			}),
		);
	});

	test.each([
		['0', 0],
		['500ms', 500],
		['30s', 30_000],
		['1.5m', 90_000],
		['2H', 7_200_000],
		['0.001s', 1],
	])('%j is %i ms', (text, ms) => {
		expect(parseDuration(text)).toBe(ms);
	});

	test.each([
		['1', 1000],
		['0.5', 500],
		['0', 0],
		['500ms', 500],
		['5m', 300_000],
		['soon', undefined],
		['-1', undefined],
	])('%j on a command line is %s ms', (text, ms) => {
		expect(parseTimeValue(text)).toBe(ms);
	});

	test.each([
		[0, '0'],
		[1, '1ms'],
		[1500, '1500ms'],
		[30_000, '30s'],
		[90_000, '90s'],
		[120_000, '2m'],
		[3_600_000, '1h'],
	])('%i ms are printed as %j', (ms, text) => {
		expect(formatDuration(ms)).toBe(text);
	});

	test.each(['', '30', '00', '-1s', '1d', '1kib', 's', '1 s 2', 'Infinitys'])('%j is none', text => {
		expect(parseDuration(text)).toBeUndefined();
	});
});

test('the longest timer is one that Node takes as it is', () => {
	const timer = setTimeout(() => {}, MAX_TIMER_MS);
	const {_idleTimeout: kept} = timer as unknown as {_idleTimeout: number};
	clearTimeout(timer);
	expect(kept).toBe(MAX_TIMER_MS);
});
