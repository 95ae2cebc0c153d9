import {createHash} from 'node:crypto';
import type {Pack} from 'tar-stream';
import type {BytePath} from '../byte-path.js';
import {refused} from '../file-errors.js';
import type {Block, Progress} from '../file-handles.js';
import {type FileCalls, quickCalls} from '../syscalls.js';
import {Complaints} from './entry-errors.js';
import {LinkedFiles} from './linked-files.js';
import {EntryPacker, PACK_BUFFER_BYTES} from './pack-entries.js';
import {waysOf} from './relative-path.js';
import {requireSame, type Transfer, type TransferOutcome, Turns} from './transfer-outcome.js';
import {type Visit, visit, visitNames} from './walk-tree.js';

export interface PackOptions {
	/** Only these entries, each for itself, by the way from the directory to them; percent-encoded. */
	readonly names?: readonly string[] | undefined;
}

/**
 * A tree, or a single file, as one tar stream. Links above the path are followed, none below it. What cannot be read
 * is left out and named in the outcome.
 */
export async function packTree(path: BytePath, {names}: PackOptions = {}): Promise<PackedTree> {
	const calls = quickCalls();
	const ways = names && waysOf(names);
	const visits = () => (ways ? visitNames(calls, path, ways) : visit(calls, path));
	const totals = await scan(visits());
	const {default: tar} = await import('tar-stream');
	const pack = tar.pack({highWaterMark: PACK_BUFFER_BYTES});
	return new PackedTree(calls, path, totals, pack, visits());
}

/** An estimate: the tree may change before it is read. */
async function scan(visits: AsyncIterable<Visit>): Promise<Progress> {
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
export class PackedTree implements Transfer {
	/** What the stream is going to hold, as far as one can tell. */
	readonly totals: Progress;
	readonly #pack: Pack;
	readonly #packer: EntryPacker;
	readonly #steps: AsyncGenerator<void, void, void>;
	readonly #complaints: Complaints;
	readonly #hash = createHash('sha256');
	readonly #turns = new Turns();
	#state: 'reading' | 'read' | 'closed' = 'reading';
	#position = 0;
	/** What the last chunk of the stream has left over. */
	#rest: Buffer | undefined;

	constructor(calls: FileCalls, path: BytePath, totals: Progress, pack: Pack, visits: AsyncIterable<Visit>) {
		this.totals = totals;
		this.#pack = pack;
		this.#complaints = new Complaints(path);
		this.#packer = new EntryPacker(calls, pack, this.#complaints);
		this.#steps = this.#packer.steps(visits);
	}

	/** Fills the target with what comes next; `offset`, if given, has to be where the last block ended. */
	read(target: Uint8Array, offset?: number): Promise<Block> {
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
	finish(sha256?: string): Promise<TransferOutcome> {
		return this.#turns.take(async () => {
			if (this.#state !== 'read') throw refused('the packed tree was not read to its end');
			const digest = this.#hash.copy().digest('hex');
			requireSame(digest, sha256);
			return {...this.#progress, sha256: digest, errors: this.#complaints.list};
		});
	}

	close(): Promise<void> {
		return this.#turns.take(async () => {
			this.#state = 'closed';
			this.#pack.destroy();
			await this.#steps.return();
		});
	}

	get #progress(): Progress {
		return {entries: this.#packer.entries, bytes: this.#packer.bytes};
	}

	#block(length: number): Block {
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
