import type {LookupAddress} from 'node:dns';
import {expect, test} from 'vitest';
import {
	type Asker,
	DnsResolver,
	MAX_LOOKUPS,
	MAX_OWNER_LOOKUPS,
	MAX_PENDING_LOOKUPS,
} from '../../src/network/dns-resolver.js';

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** A resolver that answers when the test says so. */
function slowResolver(): {dnsResolver: DnsResolver; asked: {host: string; answer: Answer}[]} {
	const asked: {host: string; answer: Answer}[] = [];
	return {dnsResolver: new DnsResolver((host, _, answer) => void asked.push({host, answer})), asked};
}

function look(dnsResolver: DnsResolver, host: string, all = true, asker?: Asker): Promise<unknown> {
	return new Promise((resolve, reject) => {
		const found: Parameters<DnsResolver['lookup']>[2] = (error, address, family) => {
			if (error) reject(error);
			else resolve(all ? address : [address, family]);
		};
		dnsResolver.lookup(host, {all}, found, asker);
	});
}

const ADDRESSES = [
	{address: '::1', family: 6},
	{address: '127.0.0.1', family: 4},
];

test('names of one owner are looked up in the order of asking', async () => {
	const {dnsResolver, asked} = slowResolver();
	const answers = Array.from({length: 5}, (_, index) => look(dnsResolver, `name${index}`));
	for (let answered = 0; answered < 5; answered++) {
		expect(asked.map(({host}) => host)).toEqual(
			Array.from({length: Math.min(5, answered + MAX_OWNER_LOOKUPS)}, (_, index) => `name${index}`),
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

test('an owner whose name server does not answer delays no other owner', async () => {
	const {dnsResolver, asked} = slowResolver();
	for (let count = 0; count < MAX_PENDING_LOOKUPS; count++) void look(dnsResolver, `slow${count}`, true, {owner: 'a'});
	const answer = look(dnsResolver, 'name', true, {owner: 'b'});
	expect(asked.map(({host}) => host)).toEqual(['slow0', 'name']);
	asked[1]!.answer(null, ADDRESSES);
	expect(await answer).toEqual(ADDRESSES);
});

test('owners take turns, and only a few names are looked up at once', () => {
	const {dnsResolver, asked} = slowResolver();
	for (const owner of ['a', 'b', 'c']) {
		for (const name of ['1', '2']) void look(dnsResolver, `${owner}${name}`, true, {owner});
	}
	expect(asked).toHaveLength(MAX_LOOKUPS);
	for (let answered = 0; answered < 6; answered++) asked[answered]!.answer(null, ADDRESSES);
	expect(asked.map(({host}) => host)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
});

test('a lookup that nobody wants any more leaves the queue', async () => {
	const {dnsResolver, asked} = slowResolver();
	void look(dnsResolver, 'first');
	const controller = new AbortController();
	for (const name of ['dropped', 'shared', 'dropped']) void look(dnsResolver, name, true, {signal: controller.signal});
	const shared = look(dnsResolver, 'shared');
	controller.abort();
	void look(dnsResolver, 'late', true, {signal: controller.signal});
	asked[0]!.answer(null, ADDRESSES);
	asked[1]!.answer(null, ADDRESSES);
	expect(await shared).toEqual(ADDRESSES);
	expect(asked.map(({host}) => host)).toEqual(['first', 'shared']);
});
