import type {WalkSink} from '../../filesystem/walk.js';
import {JsonParts} from '../../protocol/wire/encode.js';

/** Memory of a reply at first; it doubles when it is full. */
const INITIAL_BYTES = 16 * 1024;
const PATH_HEAD = '{"path":"';
const FILE_TAIL = '","kind":"file"},';
const COMMA = 0x2c;

/**
 * The reply of `fs/walk` as JSON text, made of bytes: an object per entry and its encoding cost as much as reading the
 * directories. URIs need no escaping in JSON.
 */
export class TreeText implements WalkSink {
	#bytes = Buffer.allocUnsafe(INITIAL_BYTES);
	#length = 0;
	readonly #errors: {readonly path: string; readonly message: string}[] = [];
	/** URI of the directory whose files are added. */
	#directory: string | undefined;
	/** Text between the names of two of them: the end of an entry and the beginning of the next. */
	#between = Buffer.alloc(0);
	/** Length of the text if the beginning of another entry of the directory is behind it already. */
	#lengthBeforeNext = -1;

	constructor() {
		this.#append('{"entries":[');
	}

	add(path: string, kind: 'directory' | 'file'): void {
		this.#append(`${PATH_HEAD}${path}","kind":"${kind}"},`);
	}

	addFile(directory: string, bytes: Buffer, start: number, end: number): void {
		if (directory !== this.#directory) this.#prepare(directory);
		const between = this.#between;
		this.#reserve(end - start + 2 * between.length);
		const target = this.#bytes;
		let at = this.#length;
		if (at !== this.#lengthBeforeNext) target.set(between.subarray(FILE_TAIL.length), at);
		at += between.length - FILE_TAIL.length;
		// For some ten bytes a call costs more than a loop.
		for (let from = start; from < end; from++) target[at++] = bytes[from]!;
		target.set(between, at);
		this.#length = at + FILE_TAIL.length;
		this.#lengthBeforeNext = this.#length;
	}

	addError(path: string, message: string): void {
		this.#errors.push({path, message});
	}

	finish(truncated: boolean): JsonParts {
		if (this.#bytes[this.#length - 1] === COMMA) this.#length--;
		const entries = this.#bytes.toString('latin1', 0, this.#length);
		return new JsonParts([entries, `],"errors":${JSON.stringify(this.#errors)},"truncated":${truncated}}`]);
	}

	#prepare(directory: string): void {
		this.#directory = directory;
		this.#between = Buffer.from(`${FILE_TAIL}${PATH_HEAD}${directory}/`, 'latin1');
		this.#lengthBeforeNext = -1;
	}

	#append(text: string): void {
		this.#reserve(text.length);
		this.#length += this.#bytes.write(text, this.#length, 'latin1');
	}

	/** Makes room for so many bytes more. */
	#reserve(bytes: number): void {
		const wanted = this.#length + bytes;
		if (wanted <= this.#bytes.length) return;
		const larger = Buffer.allocUnsafe(Math.max(wanted, this.#bytes.length * 2));
		this.#bytes.copy(larger);
		this.#bytes = larger;
	}
}
