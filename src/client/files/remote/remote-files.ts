import type {ParamsOnWire, RequestName, Result} from '../../../protocol/methods/method-table.js';
import {percentEncode} from '../../../protocol/path-uri/path-uri-encoding.js';
import {encodeWithBytes, type JsonParts} from '../../../protocol/wire/encode.js';
import {describePath, type Path, toPathUri} from '../../paths.js';
import type {SessionClient} from '../../session/session-client.js';
import {FamiliarFiles, withParents} from '../familiar-files.js';
import {FileError, unsupportedError, wrapFileErrors, wrapPairErrors} from '../file-error.js';
import {requireChangeOptions} from '../file-options.js';
import type {Metadata} from '../files.js';
import {
	type AccessOptions,
	type DigestOptions,
	type DirectoryEntry,
	type EntryAttributes,
	FILE_FEATURES,
	type FileFeature,
	type Files,
	type FollowOptions,
	type ListOptions,
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
} from '../files.js';
import {sandboxMember} from '../sandbox-context.js';
import {readBlocks} from '../streams/block-reader.js';
import {writeBlocks} from '../streams/block-writer.js';
import {BufferedFile, decodeText, wholeFile} from '../streams/buffered-file.js';
import {treeEntries} from '../streams/tree-entries.js';
import {MAX_CONTENT_BYTES, readAnySize, writeInBlocks} from './large-files.js';
import {remoteSearch} from './remote-search.js';
import {
	openRemoteList,
	openRemoteRead,
	openRemoteWrite,
	packRemote,
	type RemoteFile,
	unpackRemote,
} from './remote-streams.js';
import {remoteMissingWatch, remoteWatch} from './remote-watch.js';

/** The files of another machine. */
export class RemoteFiles extends FamiliarFiles implements Files {
	readonly #connect: () => Promise<SessionClient>;
	readonly #lookups = new MetadataRequests();

	/** `connect` is called for every operation: it has to return the same client while that one lives. */
	constructor(connect: () => Promise<SessionClient>) {
		super();
		this.#connect = connect;
	}

	async supports(feature: FileFeature): Promise<boolean> {
		const {capabilities} = await (await this.#client('')).describe();
		return capabilities[FILE_FEATURES[feature]] === true;
	}

	async readFile(path: Path, options: FollowOptions = {}): Promise<Uint8Array> {
		const ask = () => this.#ask('fs/readFile', path, () => toPathMembers(path, options), rootFeature(options));
		return readAnySize(this, path, options, async () => (await ask()).dataBase64);
	}

	async readText(path: Path, options?: FollowOptions): Promise<string> {
		return decodeText(await this.readFile(path, options));
	}

	async writeFile(path: Path, content: Uint8Array | string, options: WriteOptions = {}): Promise<void> {
		requireChangeOptions('writeFile', options);
		const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
		const isLarge = bytes.length > MAX_CONTENT_BYTES;
		const write = () =>
			isLarge ? writeInBlocks(this, path, bytes, options) : this.#writeMessage(path, bytes, options);
		await withParents(this, path, options, write);
	}

	async #writeMessage(path: Path, bytes: Uint8Array, options: WriteOptions): Promise<void> {
		const {atomic = false} = options;
		const params = () => encodeWithBytes({...toPathMembers(path, options), ...(atomic && {atomic}), dataBase64: bytes});
		await this.#change('fs/writeFile', path, params, atomic ? 'atomicWrite' : undefined, rootFeature(options));
	}

	async createDirectory(path: Path, options: FollowOptions & {recursive?: boolean} = {}): Promise<void> {
		requireChangeOptions('createDirectory', options);
		const {recursive = true} = options;
		const params = () => ({...toPathMembers(path, options), recursive});
		await this.#change('fs/createDirectory', path, params, rootFeature(options));
	}

	async metadata(path: Path, options: FollowOptions = {}): Promise<Metadata> {
		const ask = () => this.#ask('fs/getMetadata', path, () => toPathMembers(path, options), rootFeature(options));
		if (options.followSymlinks === false || options.sandbox || options.root) return ask();
		return wrapFileErrors(path, () => this.#lookups.get(toPathUri(path).href, ask));
	}

	async canonicalize(path: Path, options: AccessOptions = {}): Promise<string> {
		return (await this.#ask('fs/canonicalize', path, () => toPathMembers(path, options))).path;
	}

	async readDirectory(path: Path, options: AccessOptions = {}): Promise<DirectoryEntry[]> {
		return (await this.#ask('fs/readDirectory', path, () => toPathMembers(path, options))).entries;
	}

	async walk(path: Path, {sandbox, ...options}: WalkOptions & AccessOptions = {}): Promise<WalkOutcome> {
		return this.#ask('fs/walk', path, () => ({
			...toPathMembers(path, {sandbox}),
			options: {...WALK_LIMITS, followDirectorySymlinks: false, ...options},
		}));
	}

	async remove(path: Path, options: RemovalOptions = {}): Promise<void> {
		requireChangeOptions('remove', options);
		const {recursive = true, force = true} = options;
		const params = () => ({...toPathMembers(path, options), recursive, force});
		await this.#change('fs/remove', path, params, rootFeature(options));
	}

	async copy(from: Path, to: Path, options: AccessOptions & {recursive?: boolean} = {}): Promise<void> {
		requireChangeOptions('copy', options);
		const {recursive = false} = options;
		const params = () => ({...toPathPairMembers(from, to, options), recursive});
		await wrapPairErrors(from, to, () => this.#change('fs/copy', from, params));
	}

	async rename(
		from: Path,
		to: Path,
		options: AccessOptions & RootOptions & SyncOptions & {overwrite?: boolean} = {},
	): Promise<void> {
		requireChangeOptions('rename', options);
		const {overwrite = false} = options;
		const members = () => ({...rootMember(options), ...syncMember(options), overwrite});
		const params = () => ({...toPathPairMembers(from, to, options), ...members()});
		await wrapPairErrors(from, to, () =>
			this.#change('fs/rename', from, params, 'rename', rootFeature(options), syncFeature(options)),
		);
	}

	readStream(path: Path, options: ReadStreamOptions = {}): ReadableStream<Uint8Array> {
		const open = () =>
			wrapFileErrors(path, async () => {
				const client = await this.#client(path, rootFeature(options));
				if (!(await honoursSandbox(client, options))) return wholeFile(await this.readFile(path, options));
				return openRemoteRead(client, describePath(path), toPathMembers(path, options));
			});
		return readBlocks(describePath(path), open, options);
	}

	writeStream(path: Path, options: WriteStreamOptions = {}): WritableStream<Uint8Array> {
		const mode = options.offset === undefined ? 'replace' : 'update';
		const {sandbox, root} = options;
		const store = (content: Uint8Array) => this.writeFile(path, content, {sandbox, root});
		const open = () =>
			wrapFileErrors(path, async () => {
				const client = await this.#client(path, ...writeFeatures(options));
				const {capabilities} = await client.describe();
				const takesBlocks = capabilities[FILE_FEATURES.writeStreaming] && (await honoursSandbox(client, options));
				if (!takesBlocks) return new BufferedFile(MAX_CONTENT_BYTES, describePath(path), store);
				const file = {...toPathMembers(path, options), ...(options.owned && {owned: true})};
				return openRemoteWrite(client, describePath(path), file, mode, change => this.#lookups.changing(change));
			});
		return writeBlocks(open, options);
	}

	async watch(path: Path, options: WatchOptions = {}): Promise<Watch> {
		return wrapFileErrors(path, async () =>
			remoteWatch(await this.#client(path, 'watch'), toPathUri(path).href, options),
		);
	}

	async watchMissing(missing: readonly Path[], options: WatchMissingOptions = {}): Promise<MissingWatch> {
		const {present, signal} = options;
		const first = missing[0] ?? '';
		return wrapFileErrors(first, async () =>
			remoteMissingWatch(await this.#client(first, 'watchMissing'), {
				missing: missing.map(path => toPathUri(path).href),
				present: present && toPathUri(present).href,
				signal,
			}),
		);
	}

	search(query: SearchQuery, {signal}: {signal?: AbortSignal | undefined} = {}): Search {
		return remoteSearch(() => this.#client(query.path, 'search'), query, signal);
	}

	list(path: Path, options: ListOptions = {}): AsyncIterable<TreeEntry> {
		const open = () =>
			wrapFileErrors(path, async () =>
				openRemoteList(
					await this.#client(
						path,
						'resume',
						rootFeature(options),
						options.after === undefined ? undefined : 'listAfter',
					),
					describePath(path),
					toPathMembers(path, options),
					options,
				),
			);
		const {signal, blockBytes} = options;
		return treeEntries(readBlocks(describePath(path), open, {signal, blockBytes}), describePath(path));
	}

	async digest(path: Path, options: DigestOptions): Promise<Result<'fs/digest'>> {
		const {offset, length, root, sandbox} = options;
		const params = () => ({...toPathMembers(path, {root, sandbox}), offset, length});
		return this.#ask('fs/digest', path, params, 'resume', rootFeature(options));
	}

	async setAttributes(
		path: Path,
		entries: readonly EntryAttributes[],
		options: AccessOptions & RootOptions & SyncOptions = {},
	): Promise<TransferOutcome['errors']> {
		const encoded = entries.map(entry => ({...entry, name: percentEncode(entry.name)}));
		const params = () => ({...toPathMembers(path, options), ...syncMember(options), entries: encoded});
		const features = ['resume', rootFeature(options), syncFeature(options)] as const;
		return (await this.#change('fs/setAttributes', path, params, ...features)).errors;
	}

	async pack(path: Path, options: PackOptions = {}): Promise<PackedTree> {
		const feature = options.names ? 'resume' : 'transfer';
		return wrapFileErrors(path, async () =>
			packRemote(await this.#client(path, feature), describePath(path), toPathMembers(path, options), options),
		);
	}

	async unpack(path: Path, options: UnpackOptions = {}): Promise<UnpackedTree> {
		return wrapFileErrors(path, async () => {
			const features = [options.partial ? 'resume' : 'transfer', rootFeature(options), syncFeature(options)] as const;
			const client = await this.#client(path, ...features);
			return unpackRemote(
				client,
				describePath(path),
				{...toPathMembers(path, options), ...syncMember(options)},
				options,
				change => this.#lookups.changing(change),
			);
		});
	}

	/** The params are made inside, so that an invalid path fails with a `FileError`. */
	#ask<M extends RequestName>(
		method: M,
		path: Path,
		params: () => ParamsOnWire<M> | JsonParts,
		...features: (FileFeature | undefined)[]
	): Promise<Result<M>> {
		return wrapFileErrors(path, async () => (await this.#client(path, ...features)).call(method, params()));
	}

	#change<M extends RequestName>(
		method: M,
		path: Path,
		params: () => ParamsOnWire<M> | JsonParts,
		...features: (FileFeature | undefined)[]
	): Promise<Result<M>> {
		return this.#lookups.changing(() => this.#ask(method, path, params, ...features));
	}

	async #client(path: Path, ...features: (FileFeature | undefined)[]): Promise<SessionClient> {
		const client = await connectOrThrow(this.#connect, path);
		for (const feature of features) {
			if (!feature) continue;
			const {capabilities} = await client.describe();
			const capability = FILE_FEATURES[feature];
			if (!capabilities[capability]) throw unsupportedError(capability, describePath(path));
		}
		return client;
	}
}

/** A server without the capability may open a file without enforcing the sandbox. */
async function honoursSandbox(client: SessionClient, {sandbox}: AccessOptions): Promise<boolean> {
	return !sandbox || (await client.describe()).capabilities['sandboxedFileStreaming'] === true;
}

/** A connection that cannot be made fails with its own reason. */
async function connectOrThrow(connect: () => Promise<SessionClient>, path: Path): Promise<SessionClient> {
	try {
		return await connect();
	} catch (cause) {
		const message = cause instanceof Error ? cause.message : String(cause);
		throw new FileError('disconnected', message, {path: describePath(path), cause});
	}
}

/** The members that every request about one path has. */
function toPathMembers(path: Path, options: FollowOptions): RemoteFile {
	return {
		path: toPathUri(path).href,
		...(options.followSymlinks === false && {followSymlinks: false}),
		...rootMember(options),
		...sandboxMember(options),
	};
}

function rootMember({root}: RootOptions): {root?: string} {
	return root === undefined ? {} : {root: toPathUri(root).href};
}

function syncMember({sync}: SyncOptions): {sync?: true} {
	return sync ? {sync} : {};
}

function syncFeature({sync}: SyncOptions): 'sync' | undefined {
	return sync ? 'sync' : undefined;
}

/** A server without the capability would follow links. */
function rootFeature({root}: RootOptions): 'root' | undefined {
	return root === undefined ? undefined : 'root';
}

function writeFeatures({offset, owned, root}: WriteStreamOptions): (FileFeature | undefined)[] {
	return [offset === undefined ? undefined : 'resume', owned ? 'owned' : undefined, rootFeature({root})];
}

function toPathPairMembers(from: Path, to: Path, options: AccessOptions) {
	return {sourcePath: toPathUri(from).href, destinationPath: toPathUri(to).href, ...sandboxMember(options)};
}

/** Coalesces concurrent metadata calls: callers that ask for the same path share one request. */
export class MetadataRequests {
	readonly #pending = new Map<string, Promise<Metadata>>();

	async get(href: string, request: () => Promise<Metadata>): Promise<Metadata> {
		const pending = this.#pending.get(href);
		if (pending) return pending;
		const lookup = request();
		this.#pending.set(href, lookup);
		try {
			return await lookup;
		} finally {
			if (this.#pending.get(href) === lookup) this.#pending.delete(href);
		}
	}

	/** Runs a change; requests made before or during it are not shared with callers after it. */
	async changing<T>(change: () => Promise<T>): Promise<T> {
		this.#pending.clear();
		try {
			return await change();
		} finally {
			this.#pending.clear();
		}
	}
}
