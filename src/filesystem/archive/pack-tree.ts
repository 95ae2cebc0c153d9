import {createHash} from 'node:crypto';
import type {Pack} from 'tar-stream';
import type {BytePath} from '../byte-path.js';
import {refused} from '../file-errors.js';
import type {FileBlock, HandleProgress} from '../file-handles.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
import {EntryErrors} from './entry-errors.js';
import {LinkedFiles} from './linked-files.js';
import {EntryPacker, PACK_BUFFER_BYTES} from './pack-entries.js';
import {parseRelativePaths} from './relative-path.js';
import {type ArchiveOutcome, type Transfer, Turns, verifyChecksum} from './transfer-outcome.js';
import {type Visit, visit, visitNames} from './walk-tree.js';

export interface PackTreeOptions {
	/** Only these entries, each for itself, by the way from the directory to them; percent-encoded. */
	readonly names?: readonly string[] | undefined;
}

/**
 * A tree, or a single file, as one tar stream. Links above the path are followed, none below it. What cannot be read
 * is left out and named in the outcome.
 */
export async function packTree(path: BytePath, {names}: PackTreeOptions = {}): Promise<TreePacker> {
	const calls = preferredCalls();
	const ways = names && parseRelativePaths(names);
	const visits = () => (ways ? visitNames(calls, path, ways) : visit(calls, path));
	const totals = await scan(visits());
	const {default: tar} = await import('tar-stream');
	const pack = tar.pack({highWaterMark: PACK_BUFFER_BYTES});
	return new TreePacker(calls, path, totals, pack, visits());
}

/** An estimate: the tree may change before it is read. */
async function scan(visits: AsyncIterable<Visit>): Promise<HandleProgress> {
	let [entries, bytes] = [0, 0];
	const linked = new LinkedFiles();
	for await (const seen of visits) {
		if (seen.kind === 'failed') continue;
		const {name, stats} = seen;
		if (!stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink()) continue;
		entries++;
		if (stats.isFile() && linked.nameOf(name, stats) === undefined) bytes += stats.size;
	}
	return {entries, bytes};
}

/** Read from front to back; nothing of the tree is looked at before it is asked for. */
export class TreePacker implements Transfer {
	/** What the stream is going to hold, as far as one can tell. */
	readonly totals: HandleProgress;
	readonly #pack: Pack;
	readonly #packer: EntryPacker;
	readonly #steps: AsyncGenerator<void, void, void>;
	readonly #entryErrors: EntryErrors;
	readonly #hash = createHash('sha256');
	readonly #turns = new Turns();
	#state: 'reading' | 'read' | 'closed' = 'reading';
	#position = 0;
	/** What the last chunk of the stream has left over. */
	#rest: Buffer | undefined;

	constructor(calls: FileCalls, path: BytePath, totals: HandleProgress, pack: Pack, visits: AsyncIterable<Visit>) {
		this.totals = totals;
		this.#pack = pack;
		this.#entryErrors = new EntryErrors(path);
		this.#packer = new EntryPacker(calls, pack, this.#entryErrors);
		this.#steps = this.#packer.steps(visits);
	}

	/** Fills the target with what comes next; `offset`, if given, has to be where the last block ended. */
	read(target: Uint8Array, offset?: number): Promise<FileBlock> {
		return this.#turns.take(async () => {
			if (this.#state === 'closed') throw refused('the transfer is closed');
			if (this.#state === 'read' && (offset ?? this.#position) >= this.#position) return this.#block(0);
			if (offset !== undefined && offset !== this.#position) {
				throw refused(`a packed tree is read from front to back: the next block is at ${this.#position}`);
			}
			const length = await this.#fill(target);
			this.#hash.update(target.subarray(0, length));
			this.#position += length;
			if (length < target.length) this.#state = 'read';
			return this.#block(length);
		});
	}

	/** What was packed, once all of it was read. */
	finish(sha256?: string): Promise<ArchiveOutcome> {
		return this.#turns.take(async () => {
			if (this.#state !== 'read') throw refused('the packed tree was not read to its end');
			const digest = this.#hash.copy().digest('hex');
			verifyChecksum(digest, sha256);
			return {...this.#progress, sha256: digest, errors: this.#entryErrors.list};
		});
	}

	close(): Promise<void> {
		return this.#turns.take(async () => {
			this.#state = 'closed';
			this.#pack.destroy();
			await this.#steps.return();
		});
	}

	get #progress(): HandleProgress {
		return {entries: this.#packer.entries, bytes: this.#packer.bytes};
	}

	#block(length: number): FileBlock {
		return {length, eof: this.#state === 'read', progress: this.#progress};
	}

	async #fill(target: Uint8Array): Promise<number> {
		let length = 0;
		while (length < target.length) {
			const chunk = this.#rest ?? (this.#pack.read() as Buffer | null);
			if (chunk) {
				const copied = chunk.copy(target, length);
				this.#rest = copied < chunk.length ? chunk.subarray(copied) : undefined;
				length += copied;
			} else if ((await this.#steps.next()).done) {
				break;
			}
		}
		return length;
	}
}
