import {ItemIds} from '../input/item-ids.js';
import {JobInputError} from '../input/job-input-error.js';
import type {RowSource} from '../input/row-source.js';
import {toText} from '../input/template.js';
import type {StoredItem} from '../store/job-store.js';
import type {JetStreamLink} from './jet-stream-link.js';
import type {JobSubjects} from './job-subjects.js';

/** Bytes of one piece of the rows, unless one row is longer. */
const PIECE_BYTES = 128 * 1024;
/** Longest row: it travels in one message. */
export const MAX_ROW_BYTES = 512 * 1024;
/** Pieces that are kept in memory. */
const MAX_KEPT_PIECES = 8;

/** Rows of a job in the stream of inputs, many in one message. */
export interface StoredRows {
	readonly totalItems: number;
	/** Number of the first row of each piece. */
	readonly pieces: readonly number[];
}

interface RowTarget {
	readonly link: JetStreamLink;
	readonly subjects: JobSubjects;
	readonly jobId: string;
	/** Called once the columns are known, and before anything is published; throws for a job that cannot be used. */
	readonly check: () => void;
}

/** Publishes all rows, each with an id of its own. */
export async function writeRows(
	{link, subjects, jobId, check}: RowTarget,
	source: RowSource,
	idColumn: string | undefined,
): Promise<StoredRows> {
	const ids = new ItemIds();
	const pieces: number[] = [];
	let lines: string[] = [];
	let bytes = 0;
	let total = 0;
	const flush = async (): Promise<void> => {
		if (lines.length === 0) return;
		const piece = pieces.length;
		pieces.push(total - lines.length);
		const msgId = `${jobId}.i.${piece}`;
		const {kind} = await link.publish(subjects.rows(jobId, piece), lines.join('\n'), {msgId});
		if (kind === 'full') throw new JobInputError('the hub has no room for the rows of another job');
		[lines, bytes] = [[], 0];
	};
	const requireUsable = (): void => {
		if (idColumn !== undefined) requireIdColumn(source, idColumn);
		check();
	};
	for await (const row of source.rows) {
		if (total === 0) requireUsable();
		const given = idColumn === undefined ? undefined : toText(row[idColumn]);
		const itemId = idColumn === undefined ? `row-${total + 1}` : ids.assign(given, total + 1);
		const sourceId = given === undefined || given.trim() === '' ? null : given;
		const line = JSON.stringify({itemId, sourceId, row} satisfies StoredItem);
		const size = Buffer.byteLength(line);
		if (size > MAX_ROW_BYTES)
			throw new JobInputError(`row ${total + 1} has ${size} bytes; at most ${MAX_ROW_BYTES} fit`);
		if (bytes + size > PIECE_BYTES) await flush();
		lines.push(line);
		bytes += size + 1;
		total++;
	}
	if (total === 0) requireUsable();
	await flush();
	return {totalItems: total, pieces};
}

function requireIdColumn({headers}: RowSource, idColumn: string): void {
	if (!headers.includes(idColumn)) throw new JobInputError(`id_column ${idColumn} was not found in the input`);
}

/** Rows of a job by their numbers. */
export class JobRows {
	readonly #link: JetStreamLink;
	readonly #subjects: JobSubjects;
	readonly #jobId: string;
	readonly #rows: StoredRows;
	/** Lines of the pieces that were read last, oldest first. */
	readonly #kept = new Map<number, Promise<readonly string[]>>();

	constructor(link: JetStreamLink, subjects: JobSubjects, jobId: string, rows: StoredRows) {
		this.#link = link;
		this.#subjects = subjects;
		this.#jobId = jobId;
		this.#rows = rows;
	}

	/** The row as it was published. */
	async readLine(item: number): Promise<string> {
		const piece = this.#pieceOf(item);
		const line = (await this.#load(piece))[item - this.#rows.pieces[piece]!];
		if (line === undefined) throw new JobInputError(`row ${item + 1} of the job is missing`);
		return line;
	}

	async read(item: number): Promise<StoredItem> {
		return JSON.parse(await this.readLine(item)) as StoredItem;
	}

	/** Number of the item with this id; undefined if there is none. */
	async find(itemId: string): Promise<number | undefined> {
		const own = /^row-([1-9]\d*)$/.exec(itemId);
		const guess = own ? Number(own[1]) - 1 : -1;
		if (guess >= 0 && guess < this.#rows.totalItems && (await this.read(guess)).itemId === itemId) return guess;
		for (let item = 0; item < this.#rows.totalItems; item++) if ((await this.read(item)).itemId === itemId) return item;
		return undefined;
	}

	#pieceOf(item: number): number {
		const {pieces} = this.#rows;
		let [low, high] = [0, pieces.length - 1];
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (pieces[middle]! <= item) low = middle;
			else high = middle - 1;
		}
		return low;
	}

	#load(piece: number): Promise<readonly string[]> {
		const known = this.#kept.get(piece);
		if (known) return known;
		const loaded = this.#fetch(piece);
		this.#kept.set(piece, loaded);
		loaded.catch(() => this.#kept.delete(piece));
		if (this.#kept.size > MAX_KEPT_PIECES) this.#kept.delete(this.#kept.keys().next().value!);
		return loaded;
	}

	async #fetch(piece: number): Promise<readonly string[]> {
		const subject = this.#subjects.rows(this.#jobId, piece);
		const message = await this.#link.findMessage(this.#subjects.inputStream, {last_by_subj: subject});
		if (!message) throw new JobInputError(`rows of the job are missing: piece ${piece}`);
		return Buffer.from(message.data).toString().split('\n');
	}
}
