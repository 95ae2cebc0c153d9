import {expect, test} from 'vitest';

interface Random {
	bits(): number;
	next(): number;
	below(bound: number): number;
	integer(low: number, high: number): number;
	size(low: number, high: number): number;
	pick<T>(list: readonly T[]): T;
	bytes(length: number): Buffer;
	fork(): Random;
}

interface RandomModule {
	readonly Random: {new (seed: number): Random; ofPart(seed: number, index: number): Random};
	readonly weightedList: <T>(pairs: readonly (readonly [number, T])[]) => T[];
}

const {Random, weightedList} = (await import(
	new URL('../../bench/lib/random.mjs', import.meta.url).href
)) as RandomModule;

const drawn = (random: Random, count: number): number[] => Array.from({length: count}, () => random.bits());

test('the same seed gives the same numbers', () => {
	expect(drawn(new Random(7), 3)).toEqual(drawn(new Random(7), 3));
	expect(drawn(new Random(7), 3)).not.toEqual(drawn(new Random(8), 3));
	expect(drawn(new Random(1), 2)).toEqual([2693262067, 11749833]);
});

test('a part of a run has numbers of its own, whatever was drawn for other parts', () => {
	expect(drawn(Random.ofPart(5, 11), 3)).toEqual(drawn(Random.ofPart(5, 11), 3));
	expect(drawn(Random.ofPart(5, 11), 3)).not.toEqual(drawn(Random.ofPart(5, 12), 3));
});

test('a fork does not depend on what the other one draws later', () => {
	const [one, other] = [new Random(3), new Random(3)];
	const fork = one.fork();
	drawn(one, 10);
	expect(drawn(other.fork(), 3)).toEqual(drawn(fork, 3));
});

test('numbers stay within their bounds', () => {
	const random = new Random(2);
	for (let count = 0; count < 1000; count++) {
		expect(random.below(5)).toBeLessThan(5);
		expect([3, 4, 5]).toContain(random.integer(3, 5));
		const size = random.size(10, 1000);
		expect(size >= 10 && size <= 1000).toBe(true);
	}
	expect(random.bytes(20)).toHaveLength(20);
	expect(random.pick([])).toBeUndefined();
});

test('a weighted list has each value as often as its weight says', () => {
	expect(
		weightedList([
			[2, 'a'],
			[0, 'b'],
			[1, 'c'],
		]),
	).toEqual(['a', 'a', 'c']);
});
