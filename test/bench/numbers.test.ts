import {expect, test} from 'vitest';

interface Stats {
	readonly percentile: (numbers: readonly number[], percent: number) => number;
	readonly median: (numbers: readonly number[]) => number;
	readonly spread: (numbers: readonly number[], digits?: number) => string;
	readonly format: (value: number | undefined) => string;
}

interface Counter {
	readonly total: number;
	add(key: string): void;
	get(key: string): number;
	entries(): [string, number][];
	sorted(): [string, number][];
	toString(): string;
}

interface Tables {
	readonly markdownTable: (columns: string[], alignment: string, rows: unknown[][]) => string;
	readonly rowsOf: (scenario: string) => (what: string, value: unknown, kept?: boolean) => unknown[];
}

const LIB = new URL('../../bench/lib/', import.meta.url);
const {percentile, median, spread, format} = (await import(new URL('stats.mjs', LIB).href)) as Stats;
const {Counter} = (await import(new URL('counter.mjs', LIB).href)) as {Counter: new () => Counter};
const {markdownTable, rowsOf} = (await import(new URL('tables.mjs', LIB).href)) as Tables;

test('a percentile is a value of the list, by nearest rank', () => {
	const numbers = [30, 10, 20, 40];
	expect([0, 50, 75, 99, 100].map(percent => percentile(numbers, percent))).toEqual([10, 20, 30, 40, 40]);
	expect(percentile([], 50)).toBeNaN();
});

test('a median of an even number of values lies between the two in the middle', () => {
	expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5]);
	expect(median([])).toBeNaN();
});

test('numbers are shown with three digits', () => {
	expect([0.1234, 1.234, 12.34, 123.4, 12_345.6, 0, undefined].map(format)).toEqual([
		'0.123',
		'1.23',
		'12.3',
		'123',
		'12 346',
		'0',
		'-',
	]);
	expect(spread([1, 2, 3], 1)).toBe('2.0 / 3.0 / 3.0');
});

test('a counter knows each key and the total', () => {
	const counter = new Counter();
	for (const key of ['b', 'a', 'b']) counter.add(key);
	expect([counter.get('b'), counter.get('c'), counter.total]).toEqual([2, 0, 3]);
	expect(counter.entries()).toEqual([
		['b', 2],
		['a', 1],
	]);
	expect(counter.sorted()[0]).toEqual(['a', 1]);
	expect(counter.toString()).toBe('b 2, a 1');
});

test('a markdown table aligns its columns as told', () => {
	expect(markdownTable(['name', 'value'], 'lr', [['x', 1]])).toBe('| name | value |\n|---|--:|\n| x | 1 |');
	expect(rowsOf('soak')('violations', 0)).toEqual(['soak', 'violations', 0, true]);
});
