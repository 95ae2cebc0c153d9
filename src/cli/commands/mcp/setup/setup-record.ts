import {mkdir} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import * as v from 'valibot';
import {readIfExists, replaceTextFile} from '../../../../shared/node/replace-file.js';

const RECORD_FILE = 'mcp-setup.json';
/** An entry that was replaced may have held a token. */
const RECORD_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

const editSchema = v.object({
	/** Text that was there before; empty where something was only added. */
	removed: v.string(),
	inserted: v.string(),
	/** Whether the file was made for it. */
	isNewFile: v.boolean(),
});
const recordSchema = v.record(v.string(), editSchema);

/** One edit of a configuration, as it can be undone. */
export type RecordedEdit = v.InferOutput<typeof editSchema>;

/** The edits of this user's configurations by file, so that each can be undone byte for byte. */
export class SetupRecord {
	readonly #path: string;
	#text: string | undefined;
	#edits: Record<string, RecordedEdit> = {};

	/** One that cannot be read is empty: edits are undone by their meaning then. */
	static async read(home: string): Promise<SetupRecord> {
		const record = new SetupRecord(join(home, RECORD_FILE));
		record.#text = await readIfExists(record.#path);
		try {
			record.#edits = v.parse(recordSchema, JSON.parse(record.#text ?? '{}'));
		} catch {
			record.#edits = {};
		}
		return record;
	}

	private constructor(path: string) {
		this.#path = path;
	}

	get(file: string): RecordedEdit | undefined {
		return Object.hasOwn(this.#edits, file) ? this.#edits[file] : undefined;
	}

	/** Written before the file itself: an edit that was not made can be undone, too. */
	async set(file: string, edit: RecordedEdit | undefined): Promise<void> {
		const {[file]: _old, ...rest} = this.#edits;
		if (!edit && !_old) return;
		this.#edits = edit ? {...rest, [file]: edit} : rest;
		const after = `${JSON.stringify(this.#edits, undefined, '\t')}\n`;
		await mkdir(dirname(this.#path), {recursive: true, mode: DIRECTORY_MODE});
		await replaceTextFile(this.#path, {before: this.#text, after, mode: RECORD_MODE});
		this.#text = after;
	}
}
