import {closeSync, fdatasyncSync, fstatSync, ftruncateSync, readSync} from 'node:fs';
import {openRegularFile, replaceFile, writeFully} from '../../processes/spill/state-files.js';

/** Longest file that is read at once. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** An append-only file of JSON lines. A last line without its end was being written at a crash, and is cut off. */
export class RecordFile {
	readonly #path: string;
	#fd: number;
	#end: number;

	constructor(path: string) {
		this.#path = path;
		this.#fd = openRegularFile(path, 'create');
		this.#end = fstatSync(this.#fd).size;
	}

	/** Every whole record, in the order they were written. */
	read(): unknown[] {
		if (this.#end > MAX_FILE_BYTES) throw new Error(`${this.#path} is longer than ${MAX_FILE_BYTES} bytes`);
		const bytes = Buffer.alloc(this.#end);
		readSync(this.#fd, bytes, 0, bytes.length, 0);
		const whole = bytes.lastIndexOf('\n') + 1;
		if (whole < this.#end) {
			ftruncateSync(this.#fd, whole);
			this.#end = whole;
		}
		const lines = bytes.toString('utf8', 0, whole).split('\n').slice(0, -1);
		return lines.map(line => JSON.parse(line) as unknown);
	}

	/** On disk when it returns. */
	append(record: object): void {
		const line = Buffer.from(`${JSON.stringify(record)}\n`);
		writeFully(this.#fd, line, this.#end);
		fdatasyncSync(this.#fd);
		this.#end += line.length;
	}

	/** Replaces all records in one step. */
	rewrite(records: readonly object[]): void {
		replaceFile(this.#path, records.map(record => `${JSON.stringify(record)}\n`).join(''));
		closeSync(this.#fd);
		this.#fd = openRegularFile(this.#path, 'write');
		this.#end = fstatSync(this.#fd).size;
	}

	close(): void {
		closeSync(this.#fd);
	}
}
