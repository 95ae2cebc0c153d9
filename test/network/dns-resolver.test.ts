import type {LookupAddress} from 'node:dns';
import {expect, test} from 'vitest';
import {DnsResolver, MAX_LOOKUPS, MAX_PENDING_LOOKUPS} from '../../src/network/dns-resolver.js';

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** A resolver that answers when the test says so. */
function slowResolver(): {dnsResolver: DnsResolver; asked: {host: string; answer: Answer}[]} {
	const asked: {host: string; answer: Answer}[] = [];
	return {dnsResolver: new DnsResolver((host, _, answer) => void asked.push({host, answer})), asked};
}

function look(dnsResolver: DnsResolver, host: string, all = true): Promise<unknown> {
	return new Promise((resolve, reject) => {
		dnsResolver.lookup(host, {all}, (error, address, family) => {
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
	const {dnsResolver, asked} = slowResolver();
	const answers = Array.from({length: 5}, (_, index) => look(dnsResolver, `name${index}`));
	for (let answered = 0; answered < 5; answered++) {
		expect(asked.map(({host}) => host)).toEqual(
			Array.from({length: Math.min(5, answered + MAX_LOOKUPS)}, (_, index) => `name${index}`),
		);
		asked[answered]!.answer(null, ADDRESSES);
	}
	expect(await Promise.all(answers)).toEqual(answers.map(() => ADDRESSES));
});

test('a name is looked up once for all who ask meanwhile, each of whom is answered in its way', async () => {
	const {dnsResolver, asked} = slowResolver();
	const answers = [look(dnsResolver, 'name'), look(dnsResolver, 'name', false), look(dnsResolver, 'name')];
	asked[0]!.answer(null, ADDRESSES);
	expect(await Promise.all(answers)).toEqual([ADDRESSES, ['::1', 6], ADDRESSES]);
	expect(asked.length).toBe(1);
	void look(dnsResolver, 'name');
	expect(asked.length).toBe(2);
});

test('a failure is told to all, and so is a name without an address', async () => {
	const {dnsResolver, asked} = slowResolver();
	const answers = [look(dnsResolver, 'a'), look(dnsResolver, 'a', false), look(dnsResolver, 'b')];
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
	const {dnsResolver} = slowResolver();
	for (let count = 0; count < MAX_PENDING_LOOKUPS; count++) void look(dnsResolver, `name${count}`);
	await expect(look(dnsResolver, 'more')).rejects.toThrow(`${MAX_PENDING_LOOKUPS} names wait to be looked up already`);
});
