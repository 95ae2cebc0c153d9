import type {FileHandle} from 'node:fs/promises';
import {ItemIds} from '../input/item-ids.js';
import {JobInputError} from '../input/job-input-error.js';
import type {RowSource} from '../input/row-source.js';
import {toText} from '../input/template.js';
import {MAX_ITEMS} from '../job-description.js';
import type {StoredItem} from './job-store.js';
import {LineFile, readPlacedLines} from './line-file.js';

/** Bytes that are written at once. */
const WRITE_BYTES = 256 * 1024;
const MIN_PLACES = 1024;
const OWN_ID = /^row-([1-9]\d*)$/;

/** Line of the file. */
interface ItemLine {
	readonly item_id: string;
	readonly source_id?: string;
	readonly row: StoredItem['row'];
}

/** Places of lines, 8 bytes each. */
class Places {
	#places = new Float64Array(MIN_PLACES);
	length = 0;

	push(place: number): void {
		if (this.length === MAX_ITEMS) throw new JobInputError(`a job has at most ${MAX_ITEMS} rows`);
		if (this.length === this.#places.length) {
			const grown = new Float64Array(2 * this.length);
			grown.set(this.#places);
			this.#places = grown;
		}
		this.#places[this.length++] = place;
	}

	at(index: number): number {
		return this.#places[index]!;
	}
}

/** The rows of a job, one per line, written once. */
export class ItemFile {
	readonly #file: FileHandle;
	readonly #lines: LineFile;
	readonly #places: Places;
	readonly #hasIdColumn: boolean;
	#ids: Promise<ItemIds> | undefined;

	/** Writes all rows, each with an id of its own. */
	static async write(file: FileHandle, source: RowSource, idColumn: string | undefined): Promise<ItemFile> {
		const places = new Places();
		const ids = idColumn === undefined ? undefined : new ItemIds();
		const writer = new LineWriter(file);
		for await (const row of source.rows) {
			if (idColumn !== undefined && places.length === 0) requireColumn(source, idColumn);
			const sourceId = idColumn === undefined ? undefined : toText(row[idColumn]);
			const number = places.length + 1;
			const itemId = ids ? ids.assign(sourceId, number) : `row-${number}`;
			const hasSource = sourceId !== undefined && sourceId.trim() !== '';
			const line: ItemLine = {item_id: itemId, ...(hasSource && {source_id: sourceId}), row};
			places.push(writer.end);
			const full = writer.add(JSON.stringify(line));
			if (full) await full;
		}
		if (idColumn !== undefined && places.length === 0) requireColumn(source, idColumn);
		await writer.flush();
		await file.sync();
		return new ItemFile(file, places, idColumn !== undefined);
	}

	/** Finds the lines of a file that was written before. */
	static async open(file: FileHandle, hasIdColumn: boolean): Promise<ItemFile> {
		const places = new Places();
		const {size} = await file.stat();
		for await (const {place} of readPlacedLines(file, size)) places.push(place);
		return new ItemFile(file, places, hasIdColumn);
	}

	private constructor(file: FileHandle, places: Places, hasIdColumn: boolean) {
		this.#file = file;
		this.#lines = new LineFile(file);
		this.#places = places;
		this.#hasIdColumn = hasIdColumn;
	}

	get length(): number {
		return this.#places.length;
	}

	async read(item: number): Promise<StoredItem> {
		const line = JSON.parse(await this.#lines.lineAt(this.#places.at(item))) as ItemLine;
		return {itemId: line.item_id, sourceId: line.source_id ?? null, row: line.row};
	}

	/** Whether an item has this id. Ids of a column are read at the first call. */
	async has(itemId: string): Promise<boolean> {
		if (!this.#hasIdColumn) return Number(OWN_ID.exec(itemId)?.[1] ?? 0) - 1 < this.length && OWN_ID.test(itemId);
		this.#ids ??= this.#readIds();
		return (await this.#ids).has(itemId);
	}

	/** Number of the item with this id, which is looked for among all rows. */
	async find(itemId: string): Promise<number | undefined> {
		for (let item = 0; item < this.length; item++) if ((await this.read(item)).itemId === itemId) return item;
		return undefined;
	}

	close(): Promise<void> {
		return this.#file.close();
	}

	async #readIds(): Promise<ItemIds> {
		const ids = new ItemIds();
		for (let item = 0; item < this.length; item++) ids.add((await this.read(item)).itemId);
		return ids;
	}
}

/** Gathers lines into large writes. */
class LineWriter {
	readonly #file: FileHandle;
	#lines: string[] = [];
	#waiting = 0;
	/** Byte behind the last line. */
	end = 0;

	constructor(file: FileHandle) {
		this.#file = file;
	}

	/** The promise of a write, if one is due. */
	add(line: string): Promise<void> | undefined {
		this.#lines.push(line, '\n');
		const bytes = Buffer.byteLength(line) + 1;
		this.end += bytes;
		this.#waiting += bytes;
		return this.#waiting < WRITE_BYTES ? undefined : this.flush();
	}

	async flush(): Promise<void> {
		const text = this.#lines.join('');
		[this.#lines, this.#waiting] = [[], 0];
		if (text !== '') await this.#file.appendFile(text);
	}
}

function requireColumn({headers, format}: RowSource, idColumn: string): void {
	if (headers.includes(idColumn)) return;
	const where = format === 'csv' ? 'csv headers' : 'the first row';
	throw new JobInputError(`id_column ${idColumn} was not found in ${where}`);
}
