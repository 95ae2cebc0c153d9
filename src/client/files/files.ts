import type {Params, ParamsOnWire, Result} from '../../protocol/methods/method-table.js';
import type {Path} from '../paths.js';
import type {WithNativePath} from './native-entry.js';

/** Kind, size and times of a file. */
export type Metadata = Result<'fs/getMetadata'>;
/** One entry of a directory. */
export type DirectoryEntry = Result<'fs/readDirectory'>['entries'][number];
/** Bounds of a walk, and what it leaves out. */
export type WalkOptions = Partial<ParamsOnWire<'fs/walk'>['options']>;
/** Entries that a walk found, and those it could not read. */
export type WalkOutcome = Result<'fs/walk'>;
/** Sandbox policy of an operation, as the wire has it. */
export type SandboxContext = NonNullable<ParamsOnWire<'fs/readFile'>['sandbox']>;
/** One change below a watched path. */
export type FileChange = WithNativePath<Params<'fs/changed'>['changes'][number]>;
/** One match of a search: a file, or a line in it. */
export type Match = WithNativePath<Params<'fs/searchMatches'>['matches'][number]>;
/** Figures of a search that is over. */
export type SearchOutcome = Result<'fs/search'>;
/** Figures and checksum of a stream of a tree that is over. */
export type TransferOutcome = Result<'fs/finish'>;
/** Progress of a tree: entries, and bytes of file content. */
export type Progress = NonNullable<Result<'fs/readBlock'>['progress']>;

/** Options of every file operation. */
export interface AccessOptions {
	/** Sandbox of the operation; an executor that cannot enforce it refuses. */
	readonly sandbox?: SandboxContext | undefined;
}

/** Options of operations that stay below a directory. */
export interface RootOptions {
	/** Directory above the path: links are followed up to it, and none below it. Needs `root`. */
	readonly root?: Path | undefined;
}

/** Options of operations that may wait for the disk. */
export interface SyncOptions {
	/** The change survives a power cut of the machine once it is done. Needs `sync`. */
	readonly sync?: boolean | undefined;
}

/** Options of operations that may refuse links. */
export interface FollowOptions extends AccessOptions, RootOptions {
	/** False: no component of the path may be a link. */
	readonly followSymlinks?: boolean | undefined;
}

/** Options of `writeFile`. */
export interface WriteOptions extends FollowOptions {
	/** All or nothing, in one step; needs `atomicWrite`. Content for another machine has to fit a message then (48 MiB). */
	readonly atomic?: boolean | undefined;
	/** Creates the directories above the file that are missing. */
	readonly recursive?: boolean | undefined;
}

/** Options of `remove` and `rm`. */
export interface RemovalOptions extends FollowOptions {
	readonly recursive?: boolean;
	readonly force?: boolean;
}

/** Options of operations that stream. */
export interface StreamOptions extends AccessOptions {
	readonly signal?: AbortSignal | undefined;
	/** Bytes of a message at most; 1 MiB by default, less for a connection that is lost often. */
	readonly blockBytes?: number | undefined;
}

/** Options of `readStream`. */
export interface ReadStreamOptions extends StreamOptions, RootOptions {
	/** First byte to read. */
	readonly offset?: number | undefined;
}

/** Options of `writeStream`. */
export interface WriteStreamOptions extends StreamOptions, RootOptions {
	/** First byte to write, in a file that is not truncated; a new one is private. Needs `resume`. */
	readonly offset?: number | undefined;
	/**
	 * With an offset: a file that exists has to be the executor's own, with one name and not writable by others. Needs `owned`.
	 */
	readonly owned?: boolean | undefined;
}

/** Options of `watch`. */
export interface WatchOptions extends StreamOptions {
	/** Whether the whole tree is watched; true by default. */
	readonly recursive?: boolean | undefined;
	/** Patterns of paths that are not watched, in the language of `.gitignore`. */
	readonly ignore?: readonly string[] | undefined;
}

/** Changes that a watch reports together. */
export interface Changes {
	readonly changes: readonly FileChange[];
	/** Changes were dropped: earlier knowledge of the tree does not hold. */
	readonly overflow: boolean;
}

/**
 * Stream of changes, until the loop is left or the signal aborted. A watch belongs to a connection: when that is lost it
 * fails with `disconnected`, and with `ended` when the executor cannot continue, because the path is gone for instance.
 */
export interface Watch extends AsyncIterableIterator<Changes>, AsyncDisposable {}

/** Options of `watchMissing`. */
export interface WatchMissingOptions {
	/** Existing path whose change or removal counts, too. */
	readonly present?: Path | undefined;
	readonly signal?: AbortSignal | undefined;
}

/** `watching` is false when there is no watch, because one of the paths exists already for instance. */
export type MissingWatch =
	| {readonly watching: false}
	/** `changed` rejects when the connection is lost, and with `ended` when a later watch replaces this one. */
	| {readonly watching: true; readonly changed: Promise<void>};

/** Names or contents to find below a path; see `fs/search`. */
export interface SearchQuery extends AccessOptions {
	readonly path: Path;
	/** Globs for the name, or with a slash for the path below the root. */
	readonly names?: readonly string[] | undefined;
	/** Patterns of paths that are not searched, in the language of `.gitignore`. */
	readonly exclude?: readonly string[] | undefined;
	readonly contents?: {readonly pattern: string; readonly regex?: boolean; readonly ignoreCase?: boolean} | undefined;
	readonly hidden?: boolean | undefined;
	readonly ignoreFiles?: boolean | undefined;
	readonly maxMatches?: number | undefined;
}

/** Stream of matches, as they are found. Leaving the loop ends the search. */
export interface Search extends AsyncIterableIterator<Match> {
	/** Settles when the executor has finished, whether or not all matches were read. */
	readonly outcome: Promise<SearchOutcome>;
}

/** Options of streams that carry a tree. */
export interface TreeStreamOptions extends StreamOptions {
	readonly progress?: ((progress: Progress) => void) | undefined;
}

/** Options of `pack`. */
export interface PackOptions extends TreeStreamOptions {
	/** Only these entries, without their children, by relative path, one character for each byte. Needs `resume`. */
	readonly names?: readonly string[] | undefined;
}

/** Options of `list`. */
export interface ListOptions extends StreamOptions, RootOptions {
	/** Levels below the path; all by default. */
	readonly depth?: number | undefined;
	/** Only these entries, without their children; missing ones are left out. */
	readonly names?: readonly string[] | undefined;
	/** Only entries behind this one in the order of the list. Needs `listAfter`. */
	readonly after?: string | undefined;
}

/** Kind of a file. */
export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

/** An entry of a tree. Its name is the path relative to the root, one character for each byte. */
export interface ListedEntry {
	readonly name: string;
	readonly kind: EntryKind;
	readonly size: number;
	readonly mode: number;
	readonly modifiedAtMs: number;
	/** Target of a link, one character for each byte. */
	readonly target?: string | undefined;
}

/** Entry of a listed tree, or the failure to read it. */
export type TreeEntry = ListedEntry | {readonly name: string; readonly kind: 'failed'; readonly message: string};

/** A range of the bytes of a file. */
export interface DigestOptions extends AccessOptions, RootOptions {
	readonly offset: number;
	readonly length: number;
}

/** Attributes to set on an entry of a tree. */
export interface EntryAttributes {
	/** Path relative to the directory, one character for each byte; empty for the directory itself. */
	readonly name: string;
	readonly mode?: number | undefined;
	readonly modifiedAtMs?: number | undefined;
}

/** `sync` needs `partial`: files are synced before they have their names, directories with `setAttributes`. */
export interface UnpackOptions extends TreeStreamOptions, RootOptions, SyncOptions {
	/**
	 * The stream is part of a tree: entries that fail are named in the outcome, and directories get their attributes from
	 * `setAttributes`. Needs `resume`.
	 */
	readonly partial?: boolean | undefined;
	/** Whether files and links replace existing ones. */
	readonly overwrite?: boolean | undefined;
	/** Expected checksum of the stream; called when all of it was written. */
	readonly checksum?: (() => string | Promise<string>) | undefined;
}

/** A tree as one tar stream. Cancelling the stream releases it. */
export interface PackedTree {
	/** An estimate: the tree may change before it is read. */
	readonly totals: Progress;
	readonly stream: ReadableStream<Uint8Array>;
	/** Settles when the stream was read to its end. */
	readonly outcome: Promise<TransferOutcome>;
}

/** Sink that makes a tree of a tar stream. Closing the stream finishes it; aborting releases it. */
export interface UnpackedTree {
	readonly stream: WritableStream<Uint8Array>;
	readonly outcome: Promise<TransferOutcome>;
}

/** Features beyond the methods that every executor has, by the capability that announces them. */
export const FILE_FEATURES = {
	writeStreaming: 'fileWriteStreaming',
	watchMissing: 'fsWatchMissing',
	atomicWrite: 'fsAtomicWrite',
	rename: 'fsRename',
	transfer: 'fsTransfer',
	resume: 'fsResume',
	listAfter: 'fsListAfter',
	root: 'fsRoot',
	owned: 'fsOwned',
	sync: 'fsSync',
	sandboxedStreaming: 'sandboxedFileStreaming',
	watch: 'fsWatch',
	search: 'fsSearch',
} as const;
/** Name of a feature that an executor may have or not; see `supports`. */
export type FileFeature = keyof typeof FILE_FEATURES;

/**
 * The files of one machine. Paths are absolute, native to that machine or `file:` URIs; paths in results are `file:`
 * URIs, which every operation takes again (`nativePathOf` translates, changes and matches have a `nativePath`). Every failure is a `FileError`, except that an
 * aborted operation fails with the reason of its signal.
 */
export interface Files {
	/** Whether the executor has the feature; operations that need it fail with `unsupported` otherwise. */
	supports(feature: FileFeature): Promise<boolean>;
	/** A whole file of at most 512 MiB, all of it in memory; of another machine, one above 48 MiB is read in blocks. */
	readFile(path: Path, options?: FollowOptions): Promise<Uint8Array>;
	/** The same as text; bytes that are not UTF-8 are replaced. */
	readText(path: Path, options?: FollowOptions): Promise<string>;
	/**
	 * Creates a file or replaces its content. The bytes must not change until it settles. On another machine, content above
	 * 48 MiB is written in blocks, which needs `writeStreaming`.
	 */
	writeFile(path: Path, content: Uint8Array | string, options?: WriteOptions): Promise<void>;
	/** With the directories above it, unless `recursive` is false. */
	createDirectory(path: Path, options?: FollowOptions & {readonly recursive?: boolean}): Promise<void>;
	metadata(path: Path, options?: FollowOptions): Promise<Metadata>;
	/** The path without links. */
	canonicalize(path: Path, options?: AccessOptions): Promise<string>;
	readDirectory(path: Path, options?: AccessOptions): Promise<DirectoryEntry[]>;
	/** A tree, breadth first, within `WALK_LIMITS` unless the options are lower. */
	walk(path: Path, options?: WalkOptions & AccessOptions): Promise<WalkOutcome>;
	/** Removes a file, a link or a tree. With `recursive: false` no full directory; with `force: false` the path has to exist. */
	remove(path: Path, options?: RemovalOptions): Promise<void>;
	/** The same as `metadata`. */
	stat(path: Path, options?: FollowOptions): Promise<Metadata>;
	/** Whether there is something at the path; a link that leads nowhere is not. */
	exists(path: Path, options?: FollowOptions): Promise<boolean>;
	/** The same as `readDirectory`; `list` has sizes, times and whole trees. */
	readdir(path: Path, options?: AccessOptions): Promise<DirectoryEntry[]>;
	/** `createDirectory` with the default of `node:fs`: without the directories above it, and it must not exist. */
	mkdir(path: Path, options?: FollowOptions & {readonly recursive?: boolean}): Promise<void>;
	/** `remove` with the defaults of `node:fs`: no full directory, and the path has to exist. */
	rm(path: Path, options?: RemovalOptions): Promise<void>;
	/** Within the machine; directories only with `recursive`. */
	copy(from: Path, to: Path, options?: AccessOptions & {readonly recursive?: boolean}): Promise<void>;
	/** Within a file system; replaces something only with `overwrite`. */
	rename(
		from: Path,
		to: Path,
		options?: AccessOptions & RootOptions & SyncOptions & {readonly overwrite?: boolean},
	): Promise<void>;
	/** A file of any size. It is opened when it is read, and stays the same file whatever happens to its name. */
	readStream(path: Path, options?: ReadStreamOptions): ReadableStream<Uint8Array>;
	/**
	 * Empties or creates a file with the first bytes and is done when it is closed; aborted, what was written stays.
	 * Where the executor lacks `writeStreaming`, everything is kept until the end and has to fit a message (48 MiB).
	 */
	writeStream(path: Path, options?: WriteStreamOptions): WritableStream<Uint8Array>;
	/** Settles when the watch is active: every later change is reported. */
	watch(path: Path, options?: WatchOptions): Promise<Watch>;
	/** Reports once that one of the missing paths, or a directory above it, appears. There is one such watch at a time. */
	watchMissing(missing: readonly Path[], options?: WatchMissingOptions): Promise<MissingWatch>;
	search(query: SearchQuery, options?: {readonly signal?: AbortSignal | undefined}): Search;
	/** A tree with kinds, sizes, modes and times, parents first and by name. A link at the path itself is followed. */
	list(path: Path, options?: ListOptions): AsyncIterable<TreeEntry>;
	/** SHA-256 of a range of a file, computed by the executor; `length` is the part of the range that exists. */
	digest(path: Path, options: DigestOptions): Promise<Result<'fs/digest'>>;
	/** Sets modes and times below a directory, in the order given; returns the failures. */
	setAttributes(
		path: Path,
		entries: readonly EntryAttributes[],
		options?: AccessOptions & RootOptions & SyncOptions,
	): Promise<TransferOutcome['errors']>;
	pack(path: Path, options?: PackOptions): Promise<PackedTree>;
	unpack(path: Path, options?: UnpackOptions): Promise<UnpackedTree>;
}

/** Limits of a walk, and their defaults. */
export const WALK_LIMITS = {maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000} as const;
