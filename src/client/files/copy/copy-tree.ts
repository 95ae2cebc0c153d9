import {describePath} from '../../paths.js';
import {FileError, type FileErrorCode} from '../file-error.js';
import {childLocation, type UriLocation} from '../file-location.js';
import type {ListedEntry, TreeEntry} from '../files.js';
import {hasSameMetadata} from './compare-files.js';
import {atLocation, type CopyContext, continueOnFailure} from './copy-context.js';
import {copyFile, directoryInTheWay} from './copy-file.js';
import {DirectoryStack} from './directory-stack.js';
import {rootOption} from './guard-links.js';
import {sendEntries} from './send-entries.js';
import {TreePosition} from './tree-position.js';

/** Names of a batch travel in one request. */
const MAX_BATCH_NAME_BYTES = 1024 * 1024;

/** Permissions a directory needs until its content is complete. */
const OWNER_MODE = 0o700;

/**
 * Copies a tree in batches: the source is listed, the target is asked which entries of a batch it has, and the missing
 * ones are sent as one stream. Only the batch and the open directories are in memory.
 */
export async function copyTree(
	from: UriLocation,
	to: UriLocation,
	context: CopyContext,
	{position = new TreePosition(), isNew: isMade = false}: TreeCopyOptions = {},
): Promise<void> {
	const {signal, stats} = context;
	const isNew = isMade || (position.after === undefined && (await isMissing(to)));
	const copy = new TreeCopy(from, to, isNew, context, position);
	const after = (await from.files.supports('listAfter')) ? position.after : undefined;
	const options = {signal, blockBytes: stats.pace.blockBytes, ...(after !== undefined && {after})};
	for await (const entry of from.files.list(from.path, options)) {
		if (!position.isPassed(entry)) await copy.add(entry);
	}
	await copy.finish();
}

export interface TreeCopyOptions {
	/** Where an earlier attempt has stopped; moves with the copy. */
	readonly position?: TreePosition;
	/** The directory was made for the copy, and is empty. */
	readonly isNew?: boolean;
}

async function isMissing(to: UriLocation): Promise<boolean> {
	for await (const _ of to.files.list(to.path, {names: [''], ...rootOption(to)})) return false;
	return true;
}

class TreeCopy {
	readonly #from: UriLocation;
	readonly #to: UriLocation;
	/** The target did not exist: it has no entry that this copy did not make. */
	readonly #isNew: boolean;
	readonly #context: CopyContext;
	readonly #position: TreePosition;
	readonly #directories: DirectoryStack;
	/** Directories that cannot be made because a file has their name; everything below them is passed over. */
	#obstructed: string[];
	#batch: ListedEntry[] = [];
	#batchBytes = 0;
	#batchNameBytes = 0;

	constructor(from: UriLocation, to: UriLocation, isNew: boolean, context: CopyContext, position: TreePosition) {
		this.#from = from;
		this.#to = to;
		this.#isNew = isNew;
		this.#context = context;
		this.#position = position;
		this.#directories = new DirectoryStack(position.directories);
		this.#obstructed = [...position.obstructed];
	}

	async add(entry: TreeEntry): Promise<void> {
		this.#directories.popTo(entry.name);
		if (this.#isObstructed(entry.name)) return;
		if (entry.kind === 'failed') return this.#fail('failed', this.#from, entry.name, entry.message);
		if (entry.kind === 'other') return this.#fail('refused', this.#from, entry.name, 'special files are not copied');
		if (entry.kind === 'directory') this.#directories.push(entry);
		if (entry.kind === 'directory' && entry.name === '' && this.#isNew) await this.#makeRoot(entry.mode);
		if (this.#isSentAlone(entry)) return this.#copyLarge(entry);
		this.#batch.push(entry);
		this.#batchBytes += entry.kind === 'file' ? entry.size : 0;
		this.#batchNameBytes += entry.name.length;
		const {pace} = this.#context.stats;
		const isFull =
			this.#batch.length >= pace.batchEntries ||
			this.#batchBytes >= pace.batchBytes ||
			this.#batchNameBytes >= MAX_BATCH_NAME_BYTES;
		if (isFull) await this.#flush(entry.name);
	}

	/** A tree that only its owner may enter is private from the beginning, not when it is complete. */
	async #makeRoot(mode: number): Promise<void> {
		const {files, path} = this.#to;
		await atLocation(this.#to, async () => {
			await files.createDirectory(path, {recursive: true, ...rootOption(this.#to)});
			await files.setAttributes(path, [{name: '', mode: mode | OWNER_MODE}], rootOption(this.#to));
		});
	}

	async finish(): Promise<void> {
		this.#directories.popAll();
		await this.#flush('');
	}

	/** A path below the target is used only where links in it are not followed; a stream never follows them. */
	#isSentAlone({kind, size}: ListedEntry): boolean {
		return kind === 'file' && size >= this.#context.stats.pace.largeFileBytes && this.#to.root !== undefined;
	}

	async #copyLarge(source: ListedEntry): Promise<void> {
		// The directory of the file has to exist.
		await this.#flush(source.name);
		if (this.#isObstructed(source.name)) return;
		const [from, to] = [childLocation(this.#from, source.name), childLocation(this.#to, source.name)];
		await continueOnFailure(this.#context, from, () => copyFile({from, to, source}, this.#context));
		this.#commit(source.name);
	}

	/** Sends the batch, and sets the attributes of the directories that are complete with it. */
	async #flush(current: string): Promise<void> {
		const batch = this.#batch;
		this.#batch = [];
		this.#batchBytes = this.#batchNameBytes = 0;
		const missing = this.#isNew ? batch : await this.#findMissing(batch);
		if (missing.length > 0) {
			this.#context.stats.startEntry(missing[0]!.name || '.');
			await sendEntries(this.#from, this.#to, missing, this.#context);
		}
		await this.#setDirectoryAttributes();
		this.#obstructed = this.#obstructed.filter(name => isWithin(current, name));
		const last = batch.at(-1);
		if (last) this.#commit(last.name);
	}

	/** Everything up to this entry is at the target, with a checksum. */
	#commit(name: string): void {
		this.#context.stats.commit();
		this.#position.moveTo(name, this.#directories.open, this.#obstructed);
	}

	/** Entries that the target lacks, or has with another content. */
	async #findMissing(batch: readonly ListedEntry[]): Promise<ListedEntry[]> {
		if (batch.length === 0) return [];
		const existing = new Map<string, ListedEntry>();
		const names = batch.map(({name}) => name);
		const options = {names, signal: this.#context.signal, ...rootOption(this.#to)};
		await atLocation(this.#to, async () => {
			for await (const entry of this.#to.files.list(this.#to.path, options)) {
				if (entry.kind !== 'failed') existing.set(entry.name, entry);
			}
		});
		return batch.filter(entry => this.#mustBeSent(entry, existing.get(entry.name)));
	}

	#mustBeSent(source: ListedEntry, target: ListedEntry | undefined): boolean {
		if (this.#isObstructed(source.name)) return false;
		if (!target) return true;
		if (source.kind === 'directory') {
			if (target.kind !== 'directory') this.#obstruct(source.name);
			return false;
		}
		if (target.kind === 'directory') {
			this.#fail('refused', this.#to, source.name, directoryInTheWay(this.#to).detail);
			return false;
		}
		const {stats, overwrite} = this.#context;
		const isSame = hasSameMetadata(source, target) && (source.kind === 'symlink' || source.mode === target.mode);
		if (!isSame && overwrite) return true;
		stats.skipFile(source.name, source.kind === 'file' ? source.size : 0);
		return false;
	}

	async #setDirectoryAttributes(): Promise<void> {
		const closed = this.#directories.takeClosed().filter(({name}) => !this.#isObstructed(name));
		if (closed.length === 0) return;
		const errors = await atLocation(this.#to, () =>
			this.#to.files.setAttributes(this.#to.path, closed, {...rootOption(this.#to), sync: this.#context.sync}),
		);
		this.#context.stats.addErrors(this.#to.files, errors);
	}

	#obstruct(name: string): void {
		this.#obstructed.push(name);
		this.#fail('refused', this.#to, name, 'something that is no directory is in the way of a directory');
	}

	#isObstructed(name: string): boolean {
		return this.#obstructed.some(directory => isWithin(name, directory));
	}

	#fail(code: FileErrorCode, root: UriLocation, name: string, message: string): void {
		const location = childLocation(root, name);
		const error = new FileError(code, message, {path: describePath(location.path)});
		this.#context.stats.addFailure(location, error);
	}
}

function isWithin(name: string, directory: string): boolean {
	return name === directory || directory === '' || name.startsWith(`${directory}/`);
}
