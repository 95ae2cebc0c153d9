import {expect, test} from 'vitest';
import {IdTable} from '../../src/shared/id-table.js';

function createTable(minIdBytes?: number): IdTable<string> {
	return new IdTable<string>({
		maxEntries: 2,
		maxIdBytes: 4,
		...(minIdBytes !== undefined && {minIdBytes}),
		toError: (refusal, id) => new Error(`${refusal}: ${id}`),
	});
}

test('an id is taken from the moment it is reserved, and has an entry later', () => {
	const table = createTable();
	table.reserve('a');
	expect([table.has('a'), table.get('a')]).toEqual([true, undefined]);
	expect(() => table.reserve('a')).toThrow('taken: a');
	table.set('a', 'entry');
	expect(table.get('a')).toBe('entry');
	expect(() => table.reserve('a')).toThrow('taken: a');
});

test('an id can be reserved with its entry, and again once it was deleted', () => {
	const table = createTable();
	table.reserve('a', 'first');
	expect(table.get('a')).toBe('first');
	table.delete('a');
	expect([table.has('a'), table.get('a')]).toEqual([false, undefined]);
	table.reserve('a', 'second');
	expect(table.get('a')).toBe('second');
});

test('an entry that comes after its id was deleted is not stored', () => {
	const table = createTable();
	table.reserve('a');
	table.delete('a');
	table.set('a', 'late');
	expect([table.has('a'), [...table.ids()]]).toEqual([false, []]);
});

test('reserved ids count for the limit of entries', () => {
	const table = createTable();
	table.reserve('a');
	table.reserve('b', 'entry');
	expect(() => table.reserve('c')).toThrow('full: c');
	table.delete('a');
	table.reserve('c');
	expect([...table.ids()]).toEqual(['b', 'c']);
});

test('the length of an id is counted in bytes', () => {
	const table = createTable(1);
	expect(() => table.reserve('')).toThrow('length: ');
	expect(() => table.reserve('abcde')).toThrow('length: abcde');
	expect(() => table.reserve('ééé')).toThrow('length: ééé');
	table.reserve('éé');
	table.reserve('😀');
	expect([...table.ids()]).toEqual(['éé', '😀']);
	createTable().reserve('');
});

test('the first of several reasons is given: length, taken, full', () => {
	const table = createTable();
	table.reserve('a');
	table.reserve('b');
	expect(['abcde', 'a', 'c'].map(id => table.findRefusal(id))).toEqual(['length', 'taken', 'full']);
	table.delete('b');
	expect(table.findRefusal('c')).toBeUndefined();
});

test('ids can be deleted while they are listed', () => {
	const table = createTable();
	table.reserve('a');
	table.reserve('b');
	for (const id of table.ids()) table.delete(id);
	expect([...table.ids()]).toEqual([]);
});

test('a closed table gives no id away, and those that are taken can still be released', () => {
	const table = createTable();
	table.reserve('a', 'entry');
	table.close();
	expect(() => table.reserve('b')).toThrow('closed: b');
	expect(table.findRefusal('a')).toBe('closed');
	table.delete('a');
	expect([...table.ids()]).toEqual([]);
});
