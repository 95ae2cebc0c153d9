import {expect, test} from 'vitest';
import {SessionTable, type TableEntry} from '../../src/agent-tools/session-table.js';

interface Entry extends TableEntry {
	process: {state: {kind: string}};
	mutex: {isLocked: boolean};
}

const entry = (id: number): Entry => ({id, process: {state: {kind: 'running'}}, mutex: {isLocked: false}});

/** A table of six of which two are protected, full. */
function fullTable() {
	let next = 1000;
	const table = new SessionTable<Entry>({maxSessions: 6, protectedSessions: 2, nextId: () => next++});
	const entries = Array.from({length: 6}, () => entry(table.reserve()));
	for (const one of entries) expect(table.store(one)).toBeUndefined();
	const add = () => table.store(entry(table.reserve()))?.id;
	return {table, entries, add};
}

const exit = (one: Entry | undefined) => {
	one!.process.state = {kind: 'exited'};
};
const hold = (one: Entry | undefined) => {
	one!.mutex.isLocked = true;
};

test('a full table gives up the least recently used session', () => {
	const {table, entries, add} = fullTable();
	table.touch(entries[0]!);
	expect([add(), add()]).toEqual([1001, 1002]);
	expect(table.all().map(({id}) => id)).toEqual([1003, 1004, 1005, 1000, 1006, 1007]);
});

test('one that has exited goes before an older one that runs, unless it is among the protected', () => {
	const {entries, add} = fullTable();
	exit(entries[2]);
	exit(entries[5]);
	expect([add(), add()]).toEqual([1002, 1000]);
});

test('one that is being talked to is skipped', () => {
	const {entries, add} = fullTable();
	hold(entries[0]);
	expect(add()).toBe(1001);
});

test('nothing that runs is ended in place of an exited one that is being read', () => {
	const {table, entries, add} = fullTable();
	exit(entries[1]);
	hold(entries[1]);
	expect(add()).toBeUndefined();
	expect(table.all()).toHaveLength(7);
	exit(entries[2]);
	expect(add()).toBe(1002);
});

test('a table with everything protected or held grows for the moment', () => {
	const {table, entries, add} = fullTable();
	for (const one of entries) hold(one);
	expect(add()).toBeUndefined();
	expect(table.all()).toHaveLength(7);
});

test('a number is given to one at a time, and again after it was released', () => {
	const proposals = [1000, 1000, 1001, 1000];
	const table = new SessionTable<Entry>({nextId: () => proposals.shift()!});
	expect([table.reserve(), table.reserve()]).toEqual([1000, 1001]);
	table.release(1000);
	expect(table.reserve()).toBe(1000);
});

test('numbers have four or five digits unless someone else proposes them', () => {
	const table = new SessionTable<Entry>();
	const numbers = Array.from({length: 1000}, () => table.reserve());
	expect(new Set(numbers).size).toBe(1000);
	expect(numbers.every(number => number >= 1000 && number <= 99_999)).toBe(true);
});
