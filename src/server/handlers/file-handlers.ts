import {toNativePath, toRoot, toUriText} from '../../adapters/file-paths.js';
import type {LinkOptions} from '../../filesystem/below-root.js';
import type {BytePath} from '../../filesystem/byte-path.js';
import {refusedError, withFileErrors} from '../../filesystem/file-errors.js';
import {openReadable, openReplaceable, openUpdatable, requireBlockLength} from '../../filesystem/file-handles.js';
import * as files from '../../filesystem/index.js';
import type {PathUri} from '../../protocol/path-uri/path-uri.js';
import {ByteBlocks} from '../../protocol/wire/binary-payload.js';
import {encodeWithBytes, type JsonParts} from '../../protocol/wire/encode.js';
import {toBytes} from '../../protocol/wire/fields.js';
import {Base64Error, base64Length, encodeBase64} from '../../shared/base64.js';
import {payloadBuffers} from '../../shared/node/buffer-pool.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {TreeText} from './tree-text.js';

/** Files of this size and more are read in turn, when there is room for the reply. */
const MIN_BULK_BYTES = 64 * 1024;
/** Content of this size and more is spliced into the reply; less becomes a string of it. */
const SPLICE_FROM_BYTES = 4 * 1024;
/** Room for the JSON around the content of a file. */
const ENVELOPE_BYTES = 1024;
const OPENERS = {read: openReadable, replace: openReplaceable, update: openUpdatable} as const;

export const fileHandlers = {
	'fs/readFile': ({path, followSymlinks, root}, client) => {
		const native = toNativePath(path);
		const links = toLinkOptions({followSymlinks, root});
		const content = files.readFileAtOnce(native, links, MIN_BULK_BYTES - 1);
		if (!content) return readInTurn(client, native, links);
		// Of a small one the plain way through JSON costs less, above all on a server that has just started.
		return content.length < SPLICE_FROM_BYTES
			? {dataBase64: encodeBase64(content)}
			: encodeWithBytes({dataBase64: content});
	},

	'fs/writeFile': async ({path, dataBase64, atomic, ...links}, client, request) => {
		const content = dataBase64 instanceof ByteBlocks ? dataBase64 : decodeContent(dataBase64);
		const options = {...toLinkOptions(links), atomic: atomic ?? false};
		await client.flow.reserveRequest(content.length, () =>
			files.writeFile(toNativePath(path), content instanceof ByteBlocks ? content.blocks : content, options),
		);
		request.release?.();
		return {};
	},

	'fs/createDirectory': async ({path, recursive, ...links}) => {
		await files.createDirectory(toNativePath(path), {...toLinkOptions(links), recursive: recursive ?? true});
		return {};
	},

	'fs/getMetadata': ({path, followSymlinks, root}) => {
		const native = toNativePath(path);
		const links = toLinkOptions({followSymlinks, root});
		return files.getMetadataAtOnce(native, links) ?? files.getMetadata(native, links);
	},

	'fs/canonicalize': async ({path}) => {
		return {path: toUriText(await files.canonicalize(toNativePath(path)))};
	},

	'fs/readDirectory': async ({path}) => {
		return {entries: await files.readDirectory(toNativePath(path))};
	},

	'fs/walk': async ({path, options}) => {
		const pruneHiddenDirectories = options.pruneHiddenDirectories ?? false;
		const tree = new TreeText();
		const truncated = await files.walkTreeInto(toNativePath(path), {...options, pruneHiddenDirectories}, tree);
		return tree.finish(truncated);
	},

	'fs/remove': async ({path, recursive, force, ...links}) => {
		await files.remove(toNativePath(path), {
			...toLinkOptions(links),
			recursive: recursive ?? true,
			force: force ?? true,
		});
		return {};
	},

	'fs/copy': async ({sourcePath, destinationPath, recursive}) => {
		await files.copy(toNativePath(sourcePath), toNativePath(destinationPath), {recursive});
		return {};
	},

	'fs/rename': async ({sourcePath, destinationPath, overwrite, root, sync}) => {
		const options = {overwrite: overwrite ?? false, root: toRoot(root), sync: sync ?? false};
		await files.rename(toNativePath(sourcePath), toNativePath(destinationPath), options);
		return {};
	},
} satisfies Handlers<ClientConnection>;

interface LinkParams {
	readonly followSymlinks?: boolean | null | undefined;
	readonly root?: PathUri | null | undefined;
}

function toLinkOptions({followSymlinks, root}: LinkParams): LinkOptions {
	return {followSymlinks: followSymlinks ?? true, root: toRoot(root)};
}

function decodeContent(dataBase64: string | Uint8Array): Uint8Array {
	try {
		return toBytes(dataBase64);
	} catch (error) {
		if (!(error instanceof Base64Error)) throw error;
		throw refusedError(`fs/writeFile requires valid base64 dataBase64: ${error.message}`);
	}
}

async function readInTurn(client: ClientConnection, path: BytePath, links: LinkOptions): Promise<JsonParts> {
	const content = await files.readFile(path, {
		...links,
		admit: (bytes, read) => reserveRead(client, bytes, read),
	});
	return encodeWithBytes({dataBase64: content});
}

async function reserveRead(
	client: ClientConnection,
	bytes: number,
	read: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
	const maxBytes = Math.floor((client.maxReplyBytes - ENVELOPE_BYTES) / 4) * 3;
	if (bytes <= maxBytes) return client.flow.reserveReply(base64Length(bytes), read);
	throw refusedError(`file is too large for one message: limit is ${maxBytes} bytes; read it in blocks (fs/open)`);
}

export const fileHandleHandlers = {
	'fs/open': withFileErrors(async ({handleId, path, mode, root, owned}, client) => {
		const native = toNativePath(path);
		if (owned && mode !== 'update') throw refusedError('`owned` is for the mode `update`');
		const options = {...toLinkOptions({root}), owned: owned ?? false};
		await client.files.handles.open(handleId, () => OPENERS[mode](native, options));
		return {handleId};
	}),

	'fs/readBlock': withFileErrors(async ({handleId, offset, len}, client) => {
		const {handles} = client.files;
		handles.find(handleId);
		requireBlockLength('read', len);
		return client.flow.reserveReply(base64Length(len), async () => {
			const block = payloadBuffers.take();
			try {
				const {length, eof, progress} = await handles.read(handleId, block.subarray(0, len), offset);
				const chunk = block.subarray(0, length);
				return encodeWithBytes({chunk, eof, progress}, () => payloadBuffers.give(block));
			} catch (error) {
				payloadBuffers.give(block);
				throw error;
			}
		});
	}),

	'fs/writeBlock': withFileErrors(async ({handleId, offset, chunk}, client, request) => {
		const {handles} = client.files;
		handles.find(handleId);
		requireBlockLength('write', chunk.length);
		const progress = await client.flow.reserveRequest(chunk.length, () => handles.write(handleId, chunk, offset));
		request.release?.();
		return progress ? {progress} : {};
	}),

	'fs/close': withFileErrors(async ({handleId}, client) => {
		await client.files.handles.close(handleId);
		return {};
	}),
} satisfies Handlers<ClientConnection>;
