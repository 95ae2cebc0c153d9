import {createHash} from 'node:crypto';
import type {Readable} from 'node:stream';
import type {Extract} from 'tar-stream';
import {Deferred} from '../../shared/async/deferred.js';
import {Mutex} from '../../shared/async/mutex.js';
import {LongarmError} from '../../shared/errors.js';
import {openChainBelow} from '../below-root.js';
import {type BytePath, toDisplayText} from '../byte-path.js';
import {createWithParents} from '../directories.js';
import {refusedError, toDomainFileError} from '../file-errors.js';
import type {HandleProgress} from '../file-handles.js';
import {statIfExists} from '../stat.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
import {ArchiveEndCheck} from './archive-end.js';
import type {DirectoryChain} from './directory-chain.js';
import {type ArchiveEntry, isMangled, toArchiveEntry} from './tar-entry.js';
import type {TarHeader} from './tar-header.js';
import {
	type ArchiveOutcome,
	damagedError,
	EntryErrors,
	isDamagedError,
	type Transfer,
	verifyChecksum,
} from './transfer-outcome.js';
import {TreeWriter} from './tree-writer.js';

/** Bytes passed to the parser at a time. */
const MAX_PARSED_BYTES = 64 * 1024;

export interface UnpackTreeOptions {
	/** Files and links of the archive replace existing entries, except directories. */
	readonly overwrite?: boolean;
	/**
	 * The stream is a part of a tree: an entry that fails is listed in the outcome and the others are created, files are
	 * created atomically, and directories stay writable until `setAttributes`.
	 */
	readonly partial?: boolean;
	/** With `partial`: files survive a power cut once they have their names; directories do after `setAttributes`. */
	readonly sync?: boolean;
	/** The directory is created and reached without links below it. */
	readonly root?: BytePath | undefined;
}

/** Unpacks a tar stream into a directory, which is created if it is missing. */
export async function openTreeUnpacker(path: BytePath, options: UnpackTreeOptions = {}): Promise<TreeUnpacker> {
	const {overwrite = false, partial = false, sync = false, root} = options;
	if (sync && !partial) throw refusedError('`sync` is for a part of a tree');
	const calls = preferredCalls(path);
	const {default: tar} = await import('tar-stream');
	const entryErrors = new EntryErrors(path);
	const {chain, isNew} = await openOrCreate(calls, path, root);
	const writer = new TreeWriter(calls, chain, entryErrors, {overwrite, partial, sync, isNew});
	// A high-water mark of 1, so that write() reports each block as consumed; latin1, so that names are binary strings.
	const extract = tar.extract({highWaterMark: 1, filenameEncoding: 'latin1'});
	return new TreeUnpacker(writer, entryErrors, extract, partial);
}

async function openOrCreate(
	calls: FileCalls,
	path: BytePath,
	root: BytePath | undefined,
): Promise<{chain: DirectoryChain; isNew: boolean}> {
	let isNew = root === undefined && (await statIfExists(calls, path)) === undefined;
	if (isNew) await createWithParents(calls, path);
	const chain = await openChainBelow(calls, path, root, () => {
		isNew = true;
	});
	return {chain, isNew};
}

type State = {readonly kind: 'open'} | {readonly kind: 'finished'} | {readonly kind: 'failed'; readonly error: unknown};

/** `offset` is that of the entry's header in the archive; undocumented in tar-stream. */
type EntryContent = Readable & {readonly offset: number};

/** Sequential device. The first failure ends the transfer: later calls fail with the same error. */
export class TreeUnpacker implements Transfer {
	readonly #writer: TreeWriter;
	readonly #entryErrors: EntryErrors;
	readonly #extract: Extract;
	readonly #continuesOnError: boolean;
	readonly #endCheck = new ArchiveEndCheck();
	readonly #hash = createHash('sha256');
	readonly #mutex = new Mutex();
	#state: State = {kind: 'open'};
	#accepted = 0;
	/** Settles when the current entry is created. */
	#currentEntry: Promise<void> = Promise.resolve();
	/** Wakes the pending write: its block was consumed, or the stream is closed. */
	#wake: () => void = () => {};
	#released: Promise<void> | undefined;

	/** With `continuesOnError` a failed entry does not end the transfer. */
	constructor(writer: TreeWriter, entryErrors: EntryErrors, extract: Extract, continuesOnError: boolean) {
		this.#writer = writer;
		this.#entryErrors = entryErrors;
		this.#extract = extract;
		this.#continuesOnError = continuesOnError;
		extract.on('entry', (header: TarHeader, content: EntryContent, next: () => void) => {
			// A reader of the content gets the error through its iterator; without a reader it would be unhandled.
			content.on('error', () => {});
			this.#currentEntry = this.#handleEntry(header, content, next);
		});
		extract.on('error', (error: Error) => this.#fail(damagedError(error.message, error)));
		extract.on('drain', () => this.#wake());
		extract.on('close', () => this.#wake());
	}

	/** Resolves when the chunk is consumed and may be reused. `offset`, if given, has to be the end of the last chunk. */
	async write(chunk: Uint8Array, offset?: number): Promise<HandleProgress> {
		this.#requireOpen();
		if (offset !== undefined && offset !== this.#accepted) {
			throw refusedError(`a tree is unpacked from front to back: the next block is at ${this.#accepted}`);
		}
		this.#accepted += chunk.length;
		return this.#mutex.run(async () => {
			this.#requireOpen();
			this.#hash.update(chunk);
			this.#endCheck.add(chunk);
			for (let from = 0; from < chunk.length; from += MAX_PARSED_BYTES) {
				// A copy: the parser keeps the end of a block until the next one, and the chunk belongs to the caller.
				await this.#parse(Buffer.from(chunk.subarray(from, from + MAX_PARSED_BYTES)));
				this.#requireOpen();
			}
			this.#failOnError(() => this.#endCheck.requireEntries());
			return this.#progress;
		});
	}

	/** Resolves when the whole tree is created; rejects if the archive is incomplete or the checksum differs. */
	finish(sha256?: string): Promise<ArchiveOutcome> {
		return this.#mutex.run(async () => {
			this.#requireOpen();
			const digest = this.#hash.digest('hex');
			// Entries that are sent again after a bad checksum must not meet files of this transfer.
			await this.#writer.settle();
			this.#failOnError(() => {
				this.#endCheck.requireEnd();
				verifyChecksum(digest, sha256);
			});
			await this.#writer.finish();
			this.#requireOpen();
			this.#state = {kind: 'finished'};
			await this.#release();
			return {...this.#progress, sha256: digest, errors: this.#entryErrors.list};
		});
	}

	/** Aborts: removes an incomplete file, keeps the others. Resolves when all descriptors are closed. */
	async abort(): Promise<void> {
		if (this.#state.kind === 'open') this.#fail(refusedError('the transfer was given up'));
		await this.#mutex.run(() => this.#release());
	}

	close(): Promise<void> {
		return this.abort();
	}

	get #progress(): HandleProgress {
		return {entries: this.#writer.entries, bytes: this.#writer.bytes};
	}

	async #parse(chunk: Uint8Array): Promise<void> {
		const consumed = new Deferred();
		this.#wake = consumed.resolve;
		if (!this.#extract.destroyed && !this.#extract.write(chunk)) await consumed.promise;
		// A failed entry destroys the stream before its error is recorded.
		if (this.#extract.destroyed) await this.#currentEntry;
	}

	async #handleEntry(header: TarHeader, content: EntryContent, next: () => void): Promise<void> {
		try {
			await this.#addEntry(header, content);
		} catch (error) {
			this.#fail(error);
			return;
		}
		next();
	}

	async #addEntry(header: TarHeader, content: EntryContent): Promise<void> {
		let name = header.name;
		try {
			const entry = toArchiveEntry(header);
			name = entry.names.join('/');
			if (isMangled(header)) this.#entryErrors.add(name, 'the name is not UTF-8 and was changed');
			const hasContent = header.type !== 'directory' && header.size! > 0;
			this.#endCheck.startEntry(content.offset, hasContent ? header.size! : 0);
			await this.#writeEntry(entry, content);
			if (hasContent && entry.kind !== 'file') await drainContent(content);
		} catch (error) {
			throw withEntryName(name, error);
		}
	}

	async #writeEntry(entry: ArchiveEntry, content: EntryContent): Promise<void> {
		try {
			await this.#writer.add(entry, content);
		} catch (error) {
			const isClosed = this.#state.kind !== 'open' || this.#extract.destroyed;
			if (!this.#continuesOnError || isClosed || isDamagedError(error)) throw error;
			this.#entryErrors.add(entry.names.join('/'), error);
		}
	}

	/** Runs a check; its error ends the transfer. */
	#failOnError(check: () => void): void {
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

	/** Ignores errors of closing: the one that ended the transfer is reported. */
	async #releaseQuietly(): Promise<void> {
		try {
			await this.abort();
		} catch {}
	}

	async #release(): Promise<void> {
		this.#released ??= (async () => {
			this.#extract.destroy();
			await this.#currentEntry;
			await this.#writer.close();
		})();
		await this.#released;
	}

	#requireOpen(): void {
		if (this.#state.kind === 'failed') throw this.#state.error;
		if (this.#state.kind === 'finished') throw refusedError('the transfer is finished');
	}
}

/** Reads the rest of the content. It may be closed already, by the end of the transfer: there is no event then. */
async function drainContent(content: Readable): Promise<void> {
	if (content.destroyed) return;
	content.resume();
	await new Promise<void>(resolve => {
		content.once('close', resolve);
	});
}

/** Adds the name of the entry to an error. */
function withEntryName(name: string, error: unknown): unknown {
	const known = toDomainFileError(error);
	if (!(known instanceof LongarmError)) return known;
	const {code, message, context} = known;
	return new LongarmError(code, {
		message: `${toDisplayText(name)}: ${message}`,
		context: {...context, entry: toDisplayText(name)},
		cause: error,
	});
}
