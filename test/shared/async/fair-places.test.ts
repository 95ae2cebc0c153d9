import {expect, test} from 'vitest';
import {Deferred} from '../../../src/shared/async/deferred.js';
import {FairPlaces, hasShare, type PlaceOwner} from '../../../src/shared/async/fair-places.js';

const owner = (group: string, member = 'token'): PlaceOwner => ({group, member});

/** Takes as many places as the owner gets, and holds them. */
function takeAll(places: FairPlaces, who: PlaceOwner): number {
	let count = 0;
	while (places.tryRun(who, () => new Promise(() => {}))) count++;
	return count;
}

test('one member gets a quarter of the places, one group half, and others find some', () => {
	const places = new FairPlaces(64);
	expect(takeAll(places, owner('a', '1'))).toBe(16);
	expect(takeAll(places, owner('a', '2'))).toBe(8);
	for (let member = 3; member < 40; member++) takeAll(places, owner('a', String(member)));
	expect(takeAll(places, owner('b'))).toBe(16);
	expect(takeAll(places, owner('c'))).toBeGreaterThan(4);
});

test('a name cannot be chosen so that it counts for somebody else', () => {
	const places = new FairPlaces(8);
	takeAll(places, owner('a', '1'));
	expect(takeAll(places, owner('["a"', '1"]'))).toBe(2);
});

test('work that waits begins when there is a place, that of those with the fewest first', async () => {
	const places = new FairPlaces(4);
	const [first, second] = [new Deferred(), new Deferred()];
	const order: string[] = [];
	const begin = (group: string, until: Promise<void>): Promise<void> =>
		places.run(owner(group), async () => {
			order.push(group);
			await until;
		});
	const held = begin('a', first.promise);
	const waiting = [begin('a', second.promise), begin('a', second.promise), begin('b', second.promise)];
	expect(order).toEqual(['a', 'b']);
	first.resolve();
	await held;
	expect(order).toEqual(['a', 'b', 'a']);
	second.resolve();
	await Promise.all(waiting);
	expect(order).toEqual(['a', 'b', 'a', 'a']);
	expect(places.tryRun(owner('a'), async () => 'free')).toBeDefined();
});

test('work that fails gives its place back', async () => {
	const places = new FairPlaces(4);
	await expect(places.run(owner('a'), () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
	expect(takeAll(places, owner('a'))).toBe(1);
});

test('nobody has a share in the last ones', () => {
	expect([hasShare(0, 9, 10), hasShare(1, 9, 10), hasShare(0, 10, 10), hasShare(5, 5, 10)]).toEqual([
		true,
		false,
		false,
		false,
	]);
});
