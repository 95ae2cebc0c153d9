import {refuseSandbox, toNativePath, toUriText} from '../../adapters/file-paths.js';
import {FamiliarFiles, withParents} from '../../client/files/familiar-files.js';
import {wrapFileErrors, wrapPairErrors} from '../../client/files/file-error.js';
import {requireChangeOptions} from '../../client/files/file-options.js';
import {
	type AccessOptions,
	type DigestOptions,
	type DirectoryEntry,
	type EntryAttributes,
	type Files,
	type FollowOptions,
	type ListOptions,
	type Metadata,
	type MissingWatch,
	type PackedTree,
	type PackOptions,
	type ReadStreamOptions,
	type RemovalOptions,
	type RootOptions,
	type Search,
	type SearchQuery,
	type SyncOptions,
	type TransferOutcome,
	type TreeEntry,
	type UnpackedTree,
	type UnpackOptions,
	WALK_LIMITS,
	type WalkOptions,
	type WalkOutcome,
	type Watch,
	type WatchMissingOptions,
	type WatchOptions,
	type WriteOptions,
	type WriteStreamOptions,
} from '../../client/files/files.js';
import {readBlocks} from '../../client/files/streams/block-reader.js';
import {writeBlocks} from '../../client/files/streams/block-writer.js';
import {decodeText} from '../../client/files/streams/buffered-file.js';
import {treeEntries} from '../../client/files/streams/tree-entries.js';
import {describePath, type Path, toPathUri} from '../../client/paths.js';
import type {LinkOptions} from '../../filesystem/below-root.js';
import type {BytePath} from '../../filesystem/byte-path.js';
import {withFileErrors} from '../../filesystem/file-errors.js';
import * as files from '../../filesystem/index.js';
import type {Result} from '../../protocol/methods/method-table.js';
import {sandboxContext} from '../../protocol/methods/sandbox-params.js';
import {decode} from '../../protocol/wire/decode.js';
import {openLocalList, openLocalRead, openLocalReplace, openLocalUpdate} from './local-file-streams.js';
import {localSearch} from './local-search.js';
import {packLocal, setLocalAttributes, unpackLocal} from './local-transfer.js';
import {LocalMissingWatches, localWatch} from './local-watch.js';

/** The files of this machine, through the same code that serves others, without a wire between. */
export class LocalFiles extends FamiliarFiles implements Files {
	readonly #missingWatches = new LocalMissingWatches();

	async supports(): Promise<boolean> {
		return true;
	}

	async readFile(path: Path, options: FollowOptions = {}): Promise<Uint8Array> {
		return wrapFileErrors(path, () => files.readFile(resolvePath(path, options), linkOptions(options)));
	}

	async readText(path: Path, options?: FollowOptions): Promise<string> {
		return decodeText(await this.readFile(path, options));
	}

	async writeFile(path: Path, content: Uint8Array | string, options: WriteOptions = {}): Promise<void> {
		requireChangeOptions('writeFile', options);
		const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
		const {atomic = false} = options;
		const write = () =>
			wrapFileErrors(path, () => files.writeFile(resolvePath(path, options), bytes, {...linkOptions(options), atomic}));
		await withParents(this, path, options, write);
	}

	async createDirectory(path: Path, options: FollowOptions & {recursive?: boolean} = {}): Promise<void> {
		requireChangeOptions('createDirectory', options);
		const {recursive = true} = options;
		await wrapFileErrors(path, () =>
			files.createDirectory(resolvePath(path, options), {...linkOptions(options), recursive}),
		);
	}

	async metadata(path: Path, options: FollowOptions = {}): Promise<Metadata> {
		return wrapFileErrors(path, () => files.getMetadata(resolvePath(path, options), linkOptions(options)));
	}

	async canonicalize(path: Path, options: AccessOptions = {}): Promise<string> {
		return wrapFileErrors(path, async () => toUriText(await files.canonicalize(resolvePath(path, options))));
	}

	async readDirectory(path: Path, options: AccessOptions = {}): Promise<DirectoryEntry[]> {
		return wrapFileErrors(path, () => files.readDirectory(resolvePath(path, options)));
	}

	async walk(path: Path, {sandbox, ...options}: WalkOptions & AccessOptions = {}): Promise<WalkOutcome> {
		const {followDirectorySymlinks = false, pruneHiddenDirectories, ...limits} = options;
		return wrapFileErrors(path, () =>
			files.walk(resolvePath(path, {sandbox}), {
				...WALK_LIMITS,
				...limits,
				followDirectorySymlinks,
				pruneHiddenDirectories: pruneHiddenDirectories ?? false,
			}),
		);
	}

	async remove(path: Path, options: RemovalOptions = {}): Promise<void> {
		requireChangeOptions('remove', options);
		const {recursive = true, force = true} = options;
		await wrapFileErrors(path, () =>
			files.remove(resolvePath(path, options), {...linkOptions(options), recursive, force}),
		);
	}

	async copy(from: Path, to: Path, options: AccessOptions & {recursive?: boolean} = {}): Promise<void> {
		requireChangeOptions('copy', options);
		const {recursive = false} = options;
		await wrapPairErrors(from, to, () => files.copy(resolvePath(from, options), resolvePath(to, options), {recursive}));
	}

	async rename(
		from: Path,
		to: Path,
		options: AccessOptions & RootOptions & SyncOptions & {overwrite?: boolean} = {},
	): Promise<void> {
		requireChangeOptions('rename', options);
		const {overwrite = false, sync} = options;
		await wrapPairErrors(from, to, () =>
			files.rename(resolvePath(from, options), resolvePath(to, options), {overwrite, sync, root: resolveRoot(options)}),
		);
	}

	readStream(path: Path, options: ReadStreamOptions = {}): ReadableStream<Uint8Array> {
		return readBlocks(
			describePath(path),
			() => wrapFileErrors(path, () => openLocalRead(resolvePath(path, options), path, linkOptions(options))),
			options,
		);
	}

	writeStream(path: Path, options: WriteStreamOptions = {}): WritableStream<Uint8Array> {
		const open = options.offset === undefined ? openLocalReplace : openLocalUpdate;
		return writeBlocks(
			() =>
				wrapFileErrors(path, () =>
					open(resolvePath(path, options), path, {...linkOptions(options), owned: options.owned}),
				),
			options,
		);
	}

	async watch(path: Path, options: WatchOptions = {}): Promise<Watch> {
		return wrapFileErrors(
			path,
			withFileErrors(async () => localWatch(resolvePath(path, options), options)),
		);
	}

	async watchMissing(missing: readonly Path[], {present, signal}: WatchMissingOptions = {}): Promise<MissingWatch> {
		return wrapFileErrors(missing[0] ?? '', () => {
			const request = {
				missing: missing.map(path => resolvePath(path, {})),
				present: present === undefined ? undefined : resolvePath(present, {}),
			};
			return this.#missingWatches.begin(request, signal);
		});
	}

	search(query: SearchQuery, {signal}: {signal?: AbortSignal | undefined} = {}): Search {
		return localSearch(query, () => resolvePath(query.path, query), signal);
	}

	list(path: Path, options: ListOptions = {}): AsyncIterable<TreeEntry> {
		const open = () =>
			wrapFileErrors(path, () =>
				openLocalList(resolvePath(path, options), path, {...options, root: resolveRoot(options)}),
			);
		const {signal, blockBytes} = options;
		return treeEntries(readBlocks(describePath(path), open, {signal, blockBytes}), describePath(path));
	}

	async digest(path: Path, {offset, length, root, sandbox}: DigestOptions): Promise<Result<'fs/digest'>> {
		const links = () => linkOptions({root});
		return wrapFileErrors(path, () => files.digest(resolvePath(path, {sandbox}), {offset, length, ...links()}));
	}

	async setAttributes(
		path: Path,
		entries: readonly EntryAttributes[],
		options: AccessOptions & RootOptions & SyncOptions = {},
	): Promise<TransferOutcome['errors']> {
		const {sync} = options;
		return wrapFileErrors(path, () =>
			setLocalAttributes(resolvePath(path, options), entries, {root: resolveRoot(options), sync}),
		);
	}

	async pack(path: Path, options: PackOptions = {}): Promise<PackedTree> {
		return wrapFileErrors(path, () => packLocal(resolvePath(path, options), describePath(path), options));
	}

	async unpack(path: Path, options: UnpackOptions = {}): Promise<UnpackedTree> {
		return wrapFileErrors(path, () =>
			unpackLocal(resolvePath(path, options), describePath(path), {...options, root: resolveRoot(options)}),
		);
	}
}

/** The path on this machine; a sandbox that cannot be enforced is refused here as on any other. */
function resolvePath(path: Path, {sandbox}: AccessOptions): BytePath {
	if (sandbox) refuseSandbox(decode(sandboxContext, sandbox));
	return toNativePath(toPathUri(path));
}

function linkOptions(options: FollowOptions): LinkOptions {
	return {followSymlinks: options.followSymlinks ?? true, root: resolveRoot(options)};
}

function resolveRoot({root}: RootOptions): BytePath | undefined {
	return root === undefined ? undefined : toNativePath(toPathUri(root));
}
