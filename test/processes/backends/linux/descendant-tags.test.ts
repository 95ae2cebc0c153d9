import {expect, test} from 'vitest';
import {DescendantTags} from '../../../../src/processes/backends/linux/descendant-tags.js';
import type {Libc} from '../../../../src/processes/backends/linux/libc.js';

const UNLIMITED = 2n ** 64n - 1n;

/** Limits as the kernel keeps them for a process that may not raise them. */
function createLimits(hard = UNLIMITED): {libc: Libc; hardLimits: Map<number, bigint>} {
	const hardLimits = new Map<number, bigint>([
		[10, UNLIMITED],
		[15, hard],
	]);
	const libc = {
		getrlimit: (resource: number, limit: Buffer) => {
			limit.writeBigUInt64LE(hardLimits.get(resource)!, 8);
			return 0;
		},
		setrlimit: (resource: number, limit: Buffer) => {
			const [soft, wanted] = [limit.readBigUInt64LE(0), limit.readBigUInt64LE(8)];
			if (soft !== wanted || wanted > hardLimits.get(resource)!) return -1;
			hardLimits.set(resource, wanted);
			return 0;
		},
	};
	return {libc: libc as unknown as Libc, hardLimits};
}

test('every tag is lower than the one before, so that it can be set without privileges, and begins alike', () => {
	const {libc} = createLimits();
	const tags = new DescendantTags(libc);
	const issued = [tags.setNext()!, tags.setNext()!, tags.setNext()!];
	expect(issued.map(BigInt)).toEqual([...issued].map(BigInt).sort((a, b) => (a > b ? -1 : 1)));
	expect(new Set(issued).size).toBe(3);
	expect(issued.every(tag => /^\d{19}$/.test(tag) && tag.startsWith(tags.prefix))).toBe(true);
	expect(issued.every(tag => tags.isIssued(tag))).toBe(true);
});

test('a tag that no child has got yet, or another program has set, is not an issued one', () => {
	const tags = new DescendantTags(createLimits().libc);
	const first = BigInt(tags.setNext()!);
	expect([first - 1n, first + 1n, 7n].map(tag => tags.isIssued(String(tag)))).toEqual([false, false, false]);
});

test('a program below one that tags finds tags of its own, as deep as programs are ever nested', () => {
	const {libc, hardLimits} = createLimits();
	const prefixes = new Set<string>();
	for (let depth = 0; depth < 100; depth++) {
		const tags = new DescendantTags(libc);
		expect(tags.setCommonMark()).toBe(`${tags.prefix}0000000000`);
		expect(tags.setNext()).toBe(String(hardLimits.get(15)));
		prefixes.add(tags.prefix);
	}
	expect(prefixes.size).toBe(100);
});

test('without room for tags there are none', () => {
	const tags = new DescendantTags(createLimits(200_000n).libc);
	expect(tags.setNext()).toBeUndefined();
});
