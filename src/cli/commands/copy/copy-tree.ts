import type {ListedEntry, TreeEntry} from '../../../client/files/files.js';
import {uriChild} from '../../../client/paths.js';
import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describeLocation, type Location} from '../../common/locations.js';
import {printableName, printableReason} from '../../common/printable.js';
import {attempt, type CopyContext} from './copy-context.js';
import {copyFile, hasSameContent, inTheWay} from './copy-file.js';
import {DirectoryStack} from './directory-stack.js';
import {sendEntries} from './send-entries.js';

/** From here on a file travels by itself, and is gone on with in the middle when it is interrupted. */
const LARGE_FILE_BYTES = 8 * 1024 * 1024;
/** What travels as one stream: enough for a rate, little enough to be sent again when the link is lost. */
const BATCH_ENTRIES = 4096;
const BATCH_BYTES = 64 * 1024 * 1024;
/** Names of one batch, as they stand in a request. */
const BATCH_NAME_BYTES = 1024 * 1024;

/**
 * A tree in batches: the source is listed, the target is asked what it has of a batch, and what it lacks travels as one
 * stream whose ends compare checksums. Only the batch and the way to it are in memory.
 */
export async function copyTree(from: Location, to: Location, context: CopyContext): Promise<void> {
	const copy = new TreeCopy(from, to, await isMissing(to), context);
	for await (const entry of from.files.list(from.path, {signal: context.signal})) await copy.take(entry);
	await copy.finish();
}

async function isMissing({files, path}: Location): Promise<boolean> {
	for await (const _ of files.list(path, {names: ['']})) return false;
	return true;
}

class TreeCopy {
	readonly #from: Location;
	readonly #to: Location;
	/** There was nothing at the target: whatever is there now is ours. */
	readonly #isFresh: boolean;
	readonly #context: CopyContext;
	readonly #directories = new DirectoryStack();
	/** Directories whose place is taken by something else. */
	#blocked: string[] = [];
	#batch: ListedEntry[] = [];
	#batchBytes = 0;
	#batchNameBytes = 0;

	constructor(from: Location, to: Location, isFresh: boolean, context: CopyContext) {
		this.#from = from;
		this.#to = to;
		this.#isFresh = isFresh;
		this.#context = context;
	}

	async take(entry: TreeEntry): Promise<void> {
		this.#directories.leaveFor(entry.name);
		if (this.#isBlocked(entry.name)) return;
		if (entry.kind === 'failed') return this.#fail(entry.name, entry.message);
		if (entry.kind === 'other') return this.#fail(entry.name, 'special files are not copied');
		if (entry.kind === 'directory') this.#directories.enter(entry);
		if (entry.kind === 'file' && entry.size >= LARGE_FILE_BYTES) return this.#takeLarge(entry);
		this.#batch.push(entry);
		this.#batchBytes += entry.kind === 'file' ? entry.size : 0;
		this.#batchNameBytes += entry.name.length;
		const isFull =
			this.#batch.length >= BATCH_ENTRIES ||
			this.#batchBytes >= BATCH_BYTES ||
			this.#batchNameBytes >= BATCH_NAME_BYTES;
		if (isFull) await this.#flush(entry.name);
	}

	async finish(): Promise<void> {
		this.#directories.leaveAll();
		await this.#flush('');
	}

	async #takeLarge(source: ListedEntry): Promise<void> {
		// The directory of the file has to be there.
		await this.#flush(source.name);
		if (this.#isBlocked(source.name)) return;
		const [from, to] = [below(this.#from, source.name), below(this.#to, source.name)];
		await attempt(this.#context, from, () => copyFile({from, to, source}, this.#context));
	}

	/** Sends what was collected, and describes the directories that are complete then. */
	async #flush(current: string): Promise<void> {
		const batch = this.#batch;
		this.#batch = [];
		this.#batchBytes = this.#batchNameBytes = 0;
		const lacking = this.#isFresh ? batch : await this.#lacking(batch);
		if (lacking.length > 0) {
			this.#context.stats.label = printableName(lacking[0]!.name || '.');
			await sendEntries(this.#from, this.#to, lacking, this.#context);
		}
		await this.#describeDirectories();
		this.#blocked = this.#blocked.filter(name => isWithin(current, name));
	}

	async #lacking(batch: readonly ListedEntry[]): Promise<ListedEntry[]> {
		if (batch.length === 0) return [];
		const there = new Map<string, ListedEntry>();
		const names = batch.map(({name}) => name);
		for await (const entry of this.#to.files.list(this.#to.path, {names, signal: this.#context.signal})) {
			if (entry.kind !== 'failed') there.set(entry.name, entry);
		}
		return batch.filter(entry => this.#isLacking(entry, there.get(entry.name)));
	}

	#isLacking(source: ListedEntry, target: ListedEntry | undefined): boolean {
		if (this.#isBlocked(source.name)) return false;
		if (!target) return true;
		const {stats, noClobber} = this.#context;
		if (source.kind === 'directory') {
			if (target.kind !== 'directory') this.#block(source.name);
			return false;
		}
		if (target.kind === 'directory') {
			this.#fail(source.name, inTheWay(this.#to).message);
			return false;
		}
		const isSame = hasSameContent(source, target) && (source.kind === 'symlink' || source.mode === target.mode);
		if (!isSame && !noClobber) return true;
		stats.skip(source.name, source.kind === 'file' ? source.size : 0);
		return false;
	}

	async #describeDirectories(): Promise<void> {
		const left = this.#directories.takeLeft().filter(({name}) => !this.#isBlocked(name));
		if (left.length === 0) return;
		for (const {path, message} of await this.#to.files.setAttributes(this.#to.path, left)) {
			const place = {...this.#to, path: PathUri.parse(path)};
			this.#context.stats.fail(describeLocation(place), printableReason(message));
		}
	}

	#block(name: string): void {
		this.#blocked.push(name);
		const message = 'something that is no directory is in the way of a directory';
		this.#context.stats.fail(describeLocation(below(this.#to, name)), message);
	}

	#isBlocked(name: string): boolean {
		return this.#blocked.some(blocked => isWithin(name, blocked));
	}

	#fail(name: string, message: string): void {
		this.#context.stats.fail(describeLocation(below(this.#from, name)), printableReason(message));
	}
}

function below(place: Location, name: string): Location {
	return name === '' ? place : {...place, path: uriChild(place.path, name)};
}

function isWithin(name: string, directory: string): boolean {
	return name === directory || directory === '' || name.startsWith(`${directory}/`);
}
