import type {LookupAddress} from 'node:dns';
import {expect, test} from 'vitest';
import {Lookups, MAX_LOOKUPS, MAX_NAMES} from '../../src/network/dns-resolver.js';

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** A resolver that answers when the test says so. */
function slowResolver(): {lookups: Lookups; asked: {host: string; answer: Answer}[]} {
	const asked: {host: string; answer: Answer}[] = [];
	return {lookups: new Lookups((host, _, answer) => void asked.push({host, answer})), asked};
}

function look(lookups: Lookups, host: string, all = true): Promise<unknown> {
	return new Promise((resolve, reject) => {
		lookups.lookup(host, {all}, (error, address, family) => {
			if (error) reject(error);
			else resolve(all ? address : [address, family]);
		});
	});
}

const ADDRESSES = [
	{address: '::1', family: 6},
	{address: '127.0.0.1', family: 4},
];

test('a few names are looked up at once, the rest in the order of asking', async () => {
	const {lookups, asked} = slowResolver();
	const answers = Array.from({length: 5}, (_, index) => look(lookups, `name${index}`));
	for (let answered = 0; answered < 5; answered++) {
		expect(asked.map(({host}) => host)).toEqual(
			Array.from({length: Math.min(5, answered + MAX_LOOKUPS)}, (_, index) => `name${index}`),
		);
		asked[answered]!.answer(null, ADDRESSES);
	}
	expect(await Promise.all(answers)).toEqual(answers.map(() => ADDRESSES));
});

test('a name is looked up once for all who ask meanwhile, each of whom is answered in its way', async () => {
	const {lookups, asked} = slowResolver();
	const answers = [look(lookups, 'name'), look(lookups, 'name', false), look(lookups, 'name')];
	asked[0]!.answer(null, ADDRESSES);
	expect(await Promise.all(answers)).toEqual([ADDRESSES, ['::1', 6], ADDRESSES]);
	expect(asked.length).toBe(1);
	void look(lookups, 'name');
	expect(asked.length).toBe(2);
});

test('a failure is told to all, and so is a name without an address', async () => {
	const {lookups, asked} = slowResolver();
	const answers = [look(lookups, 'a'), look(lookups, 'a', false), look(lookups, 'b')];
	asked[0]!.answer(new Error('ENOTFOUND'), undefined as never);
	asked[1]!.answer(null, []);
	const told = await Promise.allSettled(answers);
	expect(told.map(each => String((each as PromiseRejectedResult).reason))).toEqual([
		'Error: ENOTFOUND',
		'Error: ENOTFOUND',
		'Error: b has no address',
	]);
});

test('names do not wait without bound', async () => {
	const {lookups} = slowResolver();
	for (let count = 0; count < MAX_NAMES; count++) void look(lookups, `name${count}`);
	await expect(look(lookups, 'more')).rejects.toThrow(`${MAX_NAMES} names wait to be looked up already`);
});
