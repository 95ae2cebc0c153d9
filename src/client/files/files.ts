import type {Params, ParamsOnWire, Result} from '../../protocol/methods/method-table.js';
import type {Path} from '../paths.js';

export type Metadata = Result<'fs/getMetadata'>;
export type DirectoryEntry = Result<'fs/readDirectory'>['entries'][number];
export type WalkOptions = Partial<ParamsOnWire<'fs/walk'>['options']>;
export type WalkOutcome = Result<'fs/walk'>;
export type SandboxContext = NonNullable<ParamsOnWire<'fs/readFile'>['sandbox']>;
export type FileChange = Params<'fs/changed'>['changes'][number];
export type Match = Params<'fs/searchMatches'>['matches'][number];
export type SearchOutcome = Result<'fs/search'>;
export type TransferOutcome = Result<'fs/finish'>;
/** How far a tree has come: entries, and bytes of file content. */
export type Progress = NonNullable<Result<'fs/readBlock'>['progress']>;

export interface AccessOptions {
	/** What the operation may touch; an executor that cannot enforce it refuses. */
	readonly sandbox?: SandboxContext | undefined;
}

export interface FollowOptions extends AccessOptions {
	/** False: no component of the path may be a link. */
	readonly followSymlinks?: boolean | undefined;
}

export interface WriteOptions extends FollowOptions {
	/** All or nothing, in one step; needs `atomicWrite`. */
	readonly atomic?: boolean | undefined;
}

export interface StreamOptions extends AccessOptions {
	readonly signal?: AbortSignal | undefined;
}

export interface ReadStreamOptions extends StreamOptions {
	/** Where to begin. */
	readonly offset?: number | undefined;
}

export interface WriteStreamOptions extends StreamOptions {
	/** Where to begin in a file that keeps what it has; a new one is private. Needs `resume`. */
	readonly offset?: number | undefined;
}

export interface WatchOptions extends StreamOptions {
	/** Whether what is deeper counts; it does unless told otherwise. */
	readonly recursive?: boolean | undefined;
	/** What is not watched, in the language of `.gitignore`. */
	readonly ignore?: readonly string[] | undefined;
}

export interface Changes {
	readonly changes: readonly FileChange[];
	/** There were changes that are not known: what was seen of the tree before does not hold. */
	readonly overflow: boolean;
}

/**
 * Changes as they happen, until it is left, aborted or thrown out of. A watch belongs to a connection: when that is
 * lost it fails with `disconnected`, and with `ended` when the executor cannot go on, because the path is gone say.
 */
export interface Watch extends AsyncIterableIterator<Changes>, AsyncDisposable {}

export interface WatchMissingOptions {
	/** Something that is there and whose change or removal counts too. */
	readonly present?: Path | undefined;
	readonly signal?: AbortSignal | undefined;
}

/** `watching` is false when nothing will be told, because one of the paths is there already for instance. */
export type MissingWatch =
	| {readonly watching: false}
	/** `changed` rejects when the link is lost, and with `ended` when a later watch takes its place. */
	| {readonly watching: true; readonly changed: Promise<void>};

/** What to look for below a path; see `fs/search`. */
export interface SearchQuery extends AccessOptions {
	readonly path: Path;
	/** Globs for the name, or with a slash for the path below the root. */
	readonly names?: readonly string[] | undefined;
	/** What is left out, in the language of `.gitignore`. */
	readonly exclude?: readonly string[] | undefined;
	readonly contents?: {readonly pattern: string; readonly regex?: boolean; readonly ignoreCase?: boolean} | undefined;
	readonly hidden?: boolean | undefined;
	readonly ignoreFiles?: boolean | undefined;
	readonly maxMatches?: number | undefined;
}

/** What a search finds, as it is found. Leaving the loop ends the search. */
export interface Search extends AsyncIterableIterator<Match> {
	/** How it went; settles when the executor is through, whether or not everything was taken. */
	readonly outcome: Promise<SearchOutcome>;
}

export interface TreeStreamOptions extends StreamOptions {
	readonly progress?: ((progress: Progress) => void) | undefined;
}

export interface PackOptions extends TreeStreamOptions {
	/** Only these entries, each for itself, by the way from the directory to them, as bytes. Needs `resume`. */
	readonly names?: readonly string[] | undefined;
}

export interface ListOptions extends StreamOptions {
	/** How many levels below the path; all unless told otherwise. */
	readonly depth?: number | undefined;
	/** Only these entries, each for itself; those that are missing are left out. */
	readonly names?: readonly string[] | undefined;
}

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

/** What is known of something in a tree. Names are the way from the root to it, one character for each byte. */
export interface ListedEntry {
	readonly name: string;
	readonly kind: EntryKind;
	readonly size: number;
	readonly mode: number;
	readonly modifiedAtMs: number;
	/** Of a link; bytes too. */
	readonly target?: string | undefined;
}

export type TreeEntry = ListedEntry | {readonly name: string; readonly kind: 'failed'; readonly message: string};

export interface EntryAttributes {
	/** The way from the directory to it, as bytes; empty for the directory itself. */
	readonly name: string;
	readonly mode?: number | undefined;
	readonly modifiedAtMs?: number | undefined;
}

export interface UnpackOptions extends TreeStreamOptions {
	/** A part of a tree: what cannot be made is named in the outcome, and directories wait for `setAttributes`. Needs `resume`. */
	readonly partial?: boolean | undefined;
	/** Whether files and links take the place of what is there. */
	readonly overwrite?: boolean | undefined;
	/** The checksum the stream has to have; asked for when all of it was written. */
	readonly checksum?: (() => string | Promise<string>) | undefined;
}

/** A tree as one tar stream. Cancelling the stream gives it up. */
export interface PackedTree {
	/** An estimate: the tree may change before it is read. */
	readonly totals: Progress;
	readonly stream: ReadableStream<Uint8Array>;
	/** Settles when the stream was read to its end. */
	readonly outcome: Promise<TransferOutcome>;
}

/** Where a tar stream becomes a tree. Closing the stream finishes it; aborting gives it up. */
export interface UnpackedTree {
	readonly stream: WritableStream<Uint8Array>;
	readonly outcome: Promise<TransferOutcome>;
}

/** What an executor can do beyond the methods every one of them has. */
export const FILE_FEATURES = {
	writeStreaming: 'fileWriteStreaming',
	watchMissing: 'fsWatchMissing',
	atomicWrite: 'fsAtomicWrite',
	rename: 'fsRename',
	transfer: 'fsTransfer',
	resume: 'fsResume',
	watch: 'fsWatch',
	search: 'fsSearch',
} as const;
export type FileFeature = keyof typeof FILE_FEATURES;

/**
 * The files of one machine. Paths are absolute, native to that machine or `file:` URIs; paths in results are `file:`
 * URIs, which every operation takes again (`nativePathOf` translates). Every failure is a `FileError`, except that an
 * aborted operation fails with the reason of its signal.
 */
export interface Files {
	/** Whether the executor can do it; what needs a feature fails with `unsupported` otherwise. */
	supports(feature: FileFeature): Promise<boolean>;
	/** A whole file; of another machine at most what fits a message (48 MiB). */
	readFile(path: Path, options?: FollowOptions): Promise<Uint8Array>;
	/** The same as text; what is not UTF-8 is replaced. */
	readText(path: Path, options?: FollowOptions): Promise<string>;
	/** Creates a file or replaces its content. The bytes are not to be changed meanwhile. */
	writeFile(path: Path, content: Uint8Array | string, options?: WriteOptions): Promise<void>;
	/** With the directories above it, unless `recursive` is false. */
	createDirectory(path: Path, options?: FollowOptions & {readonly recursive?: boolean}): Promise<void>;
	metadata(path: Path, options?: FollowOptions): Promise<Metadata>;
	/** The path without links. */
	canonicalize(path: Path, options?: AccessOptions): Promise<string>;
	readDirectory(path: Path, options?: AccessOptions): Promise<DirectoryEntry[]>;
	/** A tree, breadth first; without limits of one's own those of the executor hold. */
	walk(path: Path, options?: WalkOptions & AccessOptions): Promise<WalkOutcome>;
	/** A file, a link or a tree. With `recursive: false` no full directory; with `force: false` something has to be there. */
	remove(path: Path, options?: FollowOptions & {readonly recursive?: boolean; readonly force?: boolean}): Promise<void>;
	/** Within the machine; directories only with `recursive`. */
	copy(from: Path, to: Path, options?: AccessOptions & {readonly recursive?: boolean}): Promise<void>;
	/** Within a file system; replaces something only with `overwrite`. */
	rename(from: Path, to: Path, options?: AccessOptions & {readonly overwrite?: boolean}): Promise<void>;
	/** A file of any size. It is opened when it is read, and stays the same file whatever happens to its name. */
	readStream(path: Path, options?: ReadStreamOptions): ReadableStream<Uint8Array>;
	/**
	 * Empties or creates a file with the first bytes and is done when it is closed; aborted, what was written stays.
	 * Where the executor lacks `writeStreaming`, everything is kept until the end and has to fit a message (48 MiB).
	 */
	writeStream(path: Path, options?: WriteStreamOptions): WritableStream<Uint8Array>;
	/** Settles when the watch is in place: what happens from then on is told. */
	watch(path: Path, options?: WatchOptions): Promise<Watch>;
	/** Tells once when one of the missing paths, or a directory above it, appears. There is one such watch at a time. */
	watchMissing(missing: readonly Path[], options?: WatchMissingOptions): Promise<MissingWatch>;
	search(query: SearchQuery, options?: {readonly signal?: AbortSignal | undefined}): Search;
	/** A tree with kinds, sizes, modes and times, parents first and by name. A link at the path itself is followed. */
	list(path: Path, options?: ListOptions): AsyncIterable<TreeEntry>;
	/** The SHA-256 of a part of a file, made where the file is; `length` says how much of it there was. */
	digest(path: Path, range: {readonly offset: number; readonly length: number}): Promise<Result<'fs/digest'>>;
	/** Sets modes and times below a directory, in the order given; what failed is returned. */
	setAttributes(path: Path, entries: readonly EntryAttributes[]): Promise<TransferOutcome['errors']>;
	pack(path: Path, options?: PackOptions): Promise<PackedTree>;
	unpack(path: Path, options?: UnpackOptions): Promise<UnpackedTree>;
}

/** What a walk may cover at most, and does unless told otherwise. */
export const WALK_LIMITS = {maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000} as const;
