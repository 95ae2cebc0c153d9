// covers: src/protocol/relay/pool-selector.ts
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {
	formatPoolSelector,
	isMeantAsPool,
	isPoolName,
	MAX_SELECTED_LABELS,
	matchesPool,
	type PoolSelector,
	parsePoolSelector,
} from '../../../src/protocol/relay/pool-selector.js';

const LETTERS = ['a', 'b', 'z', 'A', 'Z', '0', '1', '9'];
const word = fc
	.array(fc.constantFrom(...LETTERS, '.', '_', '-', '/'), {minLength: 1, maxLength: 12})
	.map(letters => letters.join(''));
const poolName = fc
	.tuple(
		fc.constantFrom(...LETTERS),
		fc.array(fc.constantFrom(...LETTERS, '.', '_', '-'), {maxLength: 12}).map(letters => letters.join('')),
	)
	.map(parts => parts.join(''));
const labels = fc.dictionary(word, word, {maxKeys: MAX_SELECTED_LABELS});
const selector: fc.Arbitrary<PoolSelector> = fc
	.record({pool: fc.option(poolName, {nil: undefined}), labels})
	.filter(({pool, labels: given}) => pool !== undefined || Object.keys(given).length > 0);

test('every selector is read as it was written', () => {
	fc.assert(
		fc.property(selector, given => {
			const text = formatPoolSelector(given);
			expect(isMeantAsPool(text)).toBe(true);
			const read = parsePoolSelector(text)!;
			expect(read.pool).toBe(given.pool);
			expect(Object.entries(read.labels)).toEqual(Object.entries(given.labels));
		}),
	);
});

test('any text is a selector or none, and a selector says what it was made of', () => {
	const text = fc.oneof(
		fc.string(),
		fc
			.array(fc.constantFrom('pool:', '@', '+', '=', ',', 'a', 'b', '1', ' ', '\n', 'ä', '/'), {maxLength: 12})
			.map(parts => parts.join('')),
	);
	fc.assert(
		fc.property(text, given => {
			const read = parsePoolSelector(given);
			if (!read) return;
			const again = parsePoolSelector(formatPoolSelector(read))!;
			expect(again).toEqual(read);
			expect(read.pool === undefined || isPoolName(read.pool)).toBe(true);
			expect(read.pool !== undefined || Object.keys(read.labels).length > 0).toBe(true);
		}),
	);
});

test('an executor is meant if it has the pool and every label, whatever else it has', () => {
	fc.assert(
		fc.property(selector, labels, fc.array(poolName), (given, others, pools) => {
			const executor = {
				pools: given.pool === undefined ? pools : [...pools, given.pool],
				labels: {...others, ...given.labels},
			};
			expect(matchesPool(given, executor)).toBe(true);
			for (const key of Object.keys(given.labels)) {
				const {[key]: _, ...less} = executor.labels;
				expect(matchesPool(given, {...executor, labels: less})).toBe(false);
			}
			const elsewhere = {...executor, pools: pools.filter(pool => pool !== given.pool)};
			expect(matchesPool(given, elsewhere)).toBe(given.pool === undefined);
		}),
	);
});

test.each([
	['', undefined],
	['gpu', undefined],
	['pool:', undefined],
	['pool:a b', undefined],
	['pool:-a', undefined],
	['pool:a,b', undefined],
	['pool:a+', undefined],
	[`pool:${'a'.repeat(65)}`, undefined],
	['@', undefined],
	['@a', undefined],
	['@a=', undefined],
	['@a=b=c', undefined],
	['@a=b+a=c', undefined],
	['@a=b ', undefined],
	[`@${Array.from({length: 17}, (_, index) => `k${index}=v`).join('+')}`, undefined],
	['pool:gpu', {pool: 'gpu', labels: {}}],
	['@a=b+a=b', {pool: undefined, labels: {a: 'b'}}],
	['@toString=b', {pool: undefined, labels: {toString: 'b'}}],
	['pool:gpu+os=linux', {pool: 'gpu', labels: {os: 'linux'}}],
])('%j', (text, expected) => {
	expect(parsePoolSelector(text)).toEqual(expected);
});

test('a label is not found among the members of every object', () => {
	expect(matchesPool({pool: undefined, labels: {toString: 'x'}}, {pools: [], labels: {}})).toBe(false);
});
