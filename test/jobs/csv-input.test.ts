import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {ItemIds} from '../../src/jobs/input/item-ids.js';
import {JobInputError} from '../../src/jobs/input/job-input-error.js';
import {openRows, readRows} from '../../src/jobs/input/row-source.js';
import {quoteForShell, Template} from '../../src/jobs/input/template.js';
import {runJob} from '../../src/jobs/run-job.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {here, newJob, reporting} from './job-fixtures.js';

async function read(text: string, name = 'in.csv'): Promise<{headers: readonly string[]; rows: unknown[]}> {
	const path = join(scratchDirectory(), name);
	writeFileSync(path, text);
	const source = await openRows(path);
	const rows: unknown[] = [];
	for await (const row of source.rows) rows.push(row);
	return {headers: source.headers, rows};
}

test('CSV may have a byte order mark, CRLF, quotes, line ends in fields and blank rows', async () => {
	const text = '\ufeffid,full name,note\r\nA,"x, y","line1\nline2"\r\n,,\r\n\r\nA,b,"q ""z"""\r\n ,c,{id}\r\n';
	expect(await read(text)).toEqual({
		headers: ['id', 'full name', 'note'],
		rows: [
			{id: 'A', 'full name': 'x, y', note: 'line1\nline2'},
			{id: 'A', 'full name': 'b', note: 'q "z"'},
			{id: ' ', 'full name': 'c', note: '{id}'},
		],
	});
});

test.each([
	['a,b\n1,2\n3\n', 'csv row 3 has 1 fields but header has 2'],
	['a,b\n,\n"x\ny",2\n\n3\n', 'csv row 6 has 1 fields but header has 2'],
	['a,a\n1,2\n', 'csv header a is duplicated'],
	['', 'csv input must include a header row'],
	['a\n"never closed\n', 'failed to parse csv input'],
])('an input that cannot be used is refused with its physical line: %j', async (text, message) => {
	await expect(read(text)).rejects.toThrow(message);
});

test('an input that cannot be used leaves no job behind', async () => {
	await expect(newJob('a,b\n1,2\n3\n')).rejects.toThrow('csv row 3');
	await expect(newJob('a,b\n1,2\n', {}, {idColumn: 'zz'})).rejects.toThrow('id_column zz was not found in csv headers');
	await expect(newJob('a\n1\n', {}, {input: '/nonexistent.csv'})).rejects.toThrow(
		'failed to read csv input /nonexistent.csv: No such file or directory (os error 2)',
	);
});

test('JSON lines are rows, and a line that is none is named', async () => {
	expect((await read('{"a": 1}\n\n{"a": {"b": 2}}', 'in.jsonl')).rows).toEqual([{a: 1}, {a: {b: 2}}]);
	await expect(read('{"a": 1}\n[2]\n', 'in.jsonl')).rejects.toThrow('line 2 of the input is not a JSON object');
	await expect(read('{"a": 1}\n{\n', 'in.jsonl')).rejects.toThrow('line 2 of the input is not JSON');
});

test('ids are the column, or the number of the row, and duplicates get a suffix', () => {
	const ids = new ItemIds();
	const given = ['A', 'A', ' ', 'A-2', 'A', undefined, 'row-6'];
	expect(given.map((id, index) => ids.assign(id, index + 1))).toEqual([
		'A',
		'A-2',
		'row-3',
		'A-2-2',
		'A-3',
		'row-6',
		'row-6-2',
	]);
	const many = new ItemIds();
	const assigned = new Set(Array.from({length: 50_000}, (_, index) => many.assign(`${index % 1000}`, index + 1)));
	expect(assigned.size).toBe(50_000);
});

test('a header without rows is a job without items, whose output is the header', async () => {
	const store = await newJob('a,b\n');
	const summary = await runJob({store, worker: reporting, executors: [here()], output: {strictColumns: true}});
	expect(summary).toMatchObject({status: 'completed', total_items: 0});
	expect(readFileSync(summary.output_csv_path, 'utf8')).toMatch(/^a,b,job_id,.*completed_at\n$/);
});

test('a template is expanded once, from left to right', () => {
	const values = {row: {id: 'A', note: '{id}'}, itemId: 'A-2', rowIndex: 1, jobId: 'J'};
	const keeping = new Template('{note} {{id}} {{{id}}} {missing} {item_id} {row_index}', {
		columns: ['id', 'note'],
		unknown: 'keep',
	});
	expect(keeping.render(values)).toBe('{id} {id} {A} {missing} A-2 1');
	expect(() => new Template('{missing}', {columns: ['id'], unknown: 'refuse'})).toThrow('{missing}');
	const line = new Template('echo {note} {note!raw}', {columns: ['note'], unknown: 'refuse'});
	expect(line.render({...values, row: {note: `a'; rm -rf $HOME`}}, quoteForShell)).toBe(
		`echo 'a'\\''; rm -rf $HOME' a'; rm -rf $HOME`,
	);
});

test('a hundred thousand rows are read and kept without holding them', async () => {
	const store = await newJob(`n\n${Array.from({length: 100_000}, (_, index) => `${index}\n`).join('')}`);
	expect(store.job.totalItems).toBe(100_000);
	expect(await store.readItem(99_999)).toEqual({itemId: 'row-100000', sourceId: null, row: {n: '99999'}});
	expect(await store.readItem(5)).toMatchObject({itemId: 'row-6'});
	expect(await store.hasItem('row-100000')).toBe(true);
	expect(await store.hasItem('row-100001')).toBe(false);
});

async function* bytesOf(text: string): AsyncGenerator<Uint8Array, void, void> {
	yield Buffer.from(text);
}

async function countLimited(text: string, format: 'csv' | 'jsonl'): Promise<number> {
	let rows = 0;
	const source = await readRows(bytesOf(text), format, {maxRows: 2, maxRowBytes: 100});
	for await (const _row of source.rows) rows++;
	return rows;
}

test('an input of somebody else has at most so many rows, of so many bytes', async () => {
	expect([await countLimited('n\n1\n2\n', 'csv'), await countLimited('{"n":1}\n{"n":2}\n', 'jsonl')]).toEqual([2, 2]);
	await expect(countLimited('n\n1\n2\n3\n', 'csv')).rejects.toThrow('at most 2 rows');
	await expect(countLimited('{}\n{}\n{}\n', 'jsonl')).rejects.toThrow('at most 2 rows');
	await expect(countLimited(`n\n${'x'.repeat(301)}\n1\n`, 'csv')).rejects.toThrow(JobInputError);
	await expect(countLimited(`{"n":"${'x'.repeat(101)}"}`, 'jsonl')).rejects.toThrow('longer than 100 bytes');
	await expect(countLimited(`{"n":"${'x'.repeat(101)}"}\n{}\n`, 'jsonl')).rejects.toThrow('longer than 100 bytes');
});
