import {createHash} from 'node:crypto';
import type {Pack} from 'tar-stream';
import {Mutex} from '../../shared/async/mutex.js';
import type {BytePath} from '../byte-path.js';
import {refusedError} from '../file-errors.js';
import type {FileBlock, HandleProgress} from '../file-handles.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
import {parseRelativePaths} from './directory-chain.js';
import {EntryPacker, HardLinks, PACK_BUFFER_BYTES} from './pack-entries.js';
import {type ArchiveOutcome, EntryErrors, type Transfer, verifyChecksum} from './transfer-outcome.js';
import {type Visit, visitNames, visitPath} from './walk-tree.js';

export interface PackTreeOptions {
	/** Only these entries, without their content, as percent-encoded relative paths. */
	readonly names?: readonly string[] | undefined;
}

/**
 * Packs a tree, or a single file, into a tar stream. Links above the path are followed, none below it. Unreadable
 * entries are skipped and listed in the outcome.
 */
export async function openTreePacker(path: BytePath, {names}: PackTreeOptions = {}): Promise<TreePacker> {
	const calls = preferredCalls(path);
	const paths = names && parseRelativePaths(names);
	const visits = () => (paths ? visitNames(calls, path, paths) : visitPath(calls, path));
	const totals = await countTotals(visits());
	const {default: tar} = await import('tar-stream');
	const pack = tar.pack({highWaterMark: PACK_BUFFER_BYTES});
	return new TreePacker(calls, path, totals, pack, visits());
}

/** An estimate: the tree may change before it is read. */
async function countTotals(visits: AsyncIterable<Visit>): Promise<HandleProgress> {
	let [entries, bytes] = [0, 0];
	const hardLinks = new HardLinks();
	for await (const seen of visits) {
		if (seen.kind === 'failed') continue;
		const {name, stats} = seen;
		if (!stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink()) continue;
		entries++;
		if (stats.isFile() && hardLinks.findFirstName(name, stats) === undefined) bytes += stats.size;
	}
	return {entries, bytes};
}

/** Sequential device; visits the tree lazily, as it is read. */
export class TreePacker implements Transfer {
	/** Estimated content of the stream. */
	readonly totals: HandleProgress;
	readonly #pack: Pack;
	readonly #packer: EntryPacker;
	readonly #steps: AsyncGenerator<void, void, void>;
	readonly #entryErrors: EntryErrors;
	readonly #hash = createHash('sha256');
	readonly #mutex = new Mutex();
	#state: 'reading' | 'read' | 'closed' = 'reading';
	#position = 0;
	/** Rest of the last chunk, which did not fit into the block. */
	#rest: Buffer | undefined;

	constructor(calls: FileCalls, path: BytePath, totals: HandleProgress, pack: Pack, visits: AsyncIterable<Visit>) {
		this.totals = totals;
		this.#pack = pack;
		this.#entryErrors = new EntryErrors(path);
		this.#packer = new EntryPacker(calls, pack, this.#entryErrors);
		this.#steps = this.#packer.pack(visits);
	}

	/** Fills the target with the next bytes; `offset`, if given, has to be the end of the last block. */
	read(target: Uint8Array, offset?: number): Promise<FileBlock> {
		return this.#mutex.run(async () => {
			if (this.#state === 'closed') throw refusedError('the transfer is closed');
			if (this.#state === 'read' && (offset ?? this.#position) >= this.#position) return this.#block(0);
			if (offset !== undefined && offset !== this.#position) {
				throw refusedError(`a packed tree is read from front to back: the next block is at ${this.#position}`);
			}
			const length = await this.#fill(target);
			this.#hash.update(target.subarray(0, length));
			this.#position += length;
			if (length < target.length) this.#state = 'read';
			return this.#block(length);
		});
	}

	/** Outcome, once the stream was read to its end. */
	finish(sha256?: string): Promise<ArchiveOutcome> {
		return this.#mutex.run(async () => {
			if (this.#state !== 'read') throw refusedError('the packed tree was not read to its end');
			const digest = this.#hash.copy().digest('hex');
			verifyChecksum(digest, sha256);
			return {...this.#progress, sha256: digest, errors: this.#entryErrors.list};
		});
	}

	close(): Promise<void> {
		return this.#mutex.run(async () => {
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
