import {createHash} from 'node:crypto';
import type {Readable} from 'node:stream';
import type {Extract} from 'tar-stream';
import {LongarmError} from '../../shared/errors.js';
import {type BytePath, display} from '../byte-path.js';
import {createWithParents} from '../directories.js';
import {refused, toDomainFileError} from '../file-errors.js';
import type {HandleProgress} from '../file-handles.js';
import {statIfExists} from '../stat.js';
import {preferredCalls} from '../syscalls.js';
import {ArchiveEnd} from './archive-end.js';
import {DirectoryChain} from './directory-chain.js';
import {EntryErrors} from './entry-errors.js';
import {type ArchiveEntry, archiveEntry, isMangled} from './tar-entry.js';
import type {TarHeader} from './tar-header.js';
import {type ArchiveOutcome, damaged, isDamage, type Transfer, Turns, verifyChecksum} from './transfer-outcome.js';
import {TreeWriter} from './tree-writer.js';

export interface UnpackTreeOptions {
	/** Whether files and links of the archive take the place of what is there, directories excepted. */
	readonly overwrite?: boolean;
	/**
	 * The stream is a part of a tree: an entry that cannot be made is named in the outcome and the others are, files come
	 * into their place in one step, and directories keep the attributes they need until `setAttributes` is told theirs.
	 */
	readonly partial?: boolean;
}

/** Makes a tree of a tar stream in a directory, which is created if it is missing. */
export async function unpackTree(path: BytePath, options: UnpackTreeOptions = {}): Promise<TreeUnpacker> {
	const {overwrite = false, partial = false} = options;
	const calls = preferredCalls();
	const {default: tar} = await import('tar-stream');
	const isNew = (await statIfExists(calls, path)) === undefined;
	if (isNew) await createWithParents(calls, path);
	const entryErrors = new EntryErrors(path);
	const chain = await DirectoryChain.open(calls, path);
	const writer = new TreeWriter(calls, chain, entryErrors, {overwrite, partial, isNew});
	// Every block is answered only when it is used up; names come as bytes.
	const extract = tar.extract({highWaterMark: 1, filenameEncoding: 'latin1'});
	return new TreeUnpacker(writer, entryErrors, extract, partial);
}

type State = {readonly kind: 'open'} | {readonly kind: 'finished'} | {readonly kind: 'failed'; readonly error: unknown};

/** The undocumented place of an entry's header in the archive. */
type EntryContent = Readable & {readonly offset: number};

/** What the parser gets at a time. */
const PIECE_BYTES = 64 * 1024;

/** Written from front to back. The first failure ends it: everything after fails the same way. */
export class TreeUnpacker implements Transfer {
	readonly #writer: TreeWriter;
	readonly #entryErrors: EntryErrors;
	readonly #extract: Extract;
	readonly #goesOn: boolean;
	readonly #end = new ArchiveEnd();
	readonly #hash = createHash('sha256');
	readonly #turns = new Turns();
	#state: State = {kind: 'open'};
	#accepted = 0;
	/** The entry that is being made. */
	#making: Promise<void> = Promise.resolve();
	/** Tells the block that is being used up that it is, or that it never will be. */
	#wake: () => void = () => {};
	#released: Promise<void> | undefined;

	/** `goesOn`: what one entry cannot be made for does not keep the others out. */
	constructor(writer: TreeWriter, entryErrors: EntryErrors, extract: Extract, goesOn: boolean) {
		this.#writer = writer;
		this.#entryErrors = entryErrors;
		this.#extract = extract;
		this.#goesOn = goesOn;
		extract.on('entry', (header: TarHeader, content: EntryContent, next: () => void) => {
			// Whoever reads the content hears of its end; where nobody does, there is nothing to say.
			content.on('error', () => {});
			this.#making = this.#make(header, content, next);
		});
		extract.on('error', (error: Error) => this.#fail(damaged(error.message, error)));
		extract.on('drain', () => this.#wake());
		extract.on('close', () => this.#wake());
	}

	/** Settles when the chunk is taken up and not needed any more. `offset`, if given, has to fit. */
	async write(chunk: Uint8Array, offset?: number): Promise<HandleProgress> {
		this.#requireOpen();
		if (offset !== undefined && offset !== this.#accepted) {
			throw refused(`a tree is unpacked from front to back: the next block is at ${this.#accepted}`);
		}
		this.#accepted += chunk.length;
		return this.#turns.take(async () => {
			this.#requireOpen();
			this.#hash.update(chunk);
			this.#end.add(chunk);
			for (let from = 0; from < chunk.length; from += PIECE_BYTES) {
				// The parser holds on to the end of what it gets until more comes; a chunk is its owner's.
				await this.#extractFrom(Buffer.from(chunk.subarray(from, from + PIECE_BYTES)));
				this.#requireOpen();
			}
			this.#attempt(() => this.#end.requireEntries());
			return this.#progress;
		});
	}

	/** Settles when the whole tree is there, or throws because the archive was not whole. */
	finish(sha256?: string): Promise<ArchiveOutcome> {
		return this.#turns.take(async () => {
			this.#requireOpen();
			const digest = this.#hash.digest('hex');
			this.#attempt(() => {
				this.#end.requireEnd();
				verifyChecksum(digest, sha256);
			});
			await this.#writer.finish();
			this.#requireOpen();
			this.#state = {kind: 'finished'};
			await this.#release();
			return {...this.#progress, sha256: digest, errors: this.#entryErrors.list};
		});
	}

	/** Gives up: a file that is not complete is removed, the others stay. Settles when nothing is open any more. */
	async abort(): Promise<void> {
		if (this.#state.kind === 'open') this.#fail(refused('the transfer was given up'));
		await this.#turns.take(() => this.#release());
	}

	close(): Promise<void> {
		return this.abort();
	}

	get #progress(): HandleProgress {
		return {entries: this.#writer.entries, bytes: this.#writer.bytes};
	}

	async #extractFrom(chunk: Uint8Array): Promise<void> {
		const used = new Promise<void>(resolve => {
			this.#wake = resolve;
		});
		if (!this.#extract.destroyed && !this.#extract.write(chunk)) await used;
		// An entry that fails ends the stream before it says why.
		if (this.#extract.destroyed) await this.#making;
	}

	async #make(header: TarHeader, content: EntryContent, next: () => void): Promise<void> {
		try {
			await this.#add(header, content);
		} catch (error) {
			this.#fail(error);
			return;
		}
		next();
	}

	async #add(header: TarHeader, content: EntryContent): Promise<void> {
		let name = header.name;
		try {
			const entry = archiveEntry(header);
			name = entry.names.join('/');
			if (isMangled(header)) this.#entryErrors.add(name, 'the name is not UTF-8 and was changed');
			const hasContent = header.type !== 'directory' && header.size! > 0;
			this.#end.entry(content.offset, hasContent ? header.size! : 0);
			await this.#build(entry, content);
			if (hasContent && entry.kind !== 'file') await skip(content);
		} catch (error) {
			throw about(name, error);
		}
	}

	async #build(entry: ArchiveEntry, content: EntryContent): Promise<void> {
		try {
			await this.#writer.add(entry, content);
		} catch (error) {
			const isOver = this.#state.kind !== 'open' || this.#extract.destroyed;
			if (!this.#goesOn || isOver || isDamage(error)) throw error;
			this.#entryErrors.add(entry.names.join('/'), error);
		}
	}

	/** Runs a check whose failure is one of the transfer. */
	#attempt(check: () => void): void {
		try {
			check();
		} catch (error) {
			this.#fail(error);
			throw error;
		}
	}

	#fail(error: unknown): void {
		if (this.#state.kind !== 'open') return;
		this.#state = {kind: 'failed', error};
		void this.#releaseQuietly();
		this.#extract.destroy();
	}

	/** The failure that ended the transfer is the one to tell. */
	async #releaseQuietly(): Promise<void> {
		try {
			await this.abort();
		} catch {}
	}

	async #release(): Promise<void> {
		this.#released ??= (async () => {
			this.#extract.destroy();
			await this.#making;
			await this.#writer.close();
		})();
		await this.#released;
	}

	#requireOpen(): void {
		if (this.#state.kind === 'failed') throw this.#state.error;
		if (this.#state.kind === 'finished') throw refused('the transfer is finished');
	}
}

async function skip(content: Readable): Promise<void> {
	content.resume();
	await new Promise<void>(resolve => {
		content.once('close', resolve);
	});
}

/** The failure, with the name of the entry that it is about. */
function about(name: string, error: unknown): unknown {
	const known = toDomainFileError(error);
	if (!(known instanceof LongarmError)) return known;
	const {code, message, context} = known;
	return new LongarmError(code, {
		message: `${display(name)}: ${message}`,
		context: {...context, entry: display(name)},
		cause: error,
	});
}
