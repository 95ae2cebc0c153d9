import {toNativePath, toUriText} from '../../adapters/file-paths.js';
import {refusedError, withFileErrors} from '../../filesystem/file-errors.js';
import {openReadable, openReplaceable, openUpdatable, requireBlockLength} from '../../filesystem/file-handles.js';
import * as files from '../../filesystem/index.js';
import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {toBytes} from '../../protocol/wire/fields.js';
import {Base64Error} from '../../shared/base64.js';
import {payloadBuffers} from '../../shared/node/buffer-pool.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

/** Replies of this size and more are subject to flow control. */
const MIN_BULK_BYTES = 64 * 1024;
/** Room for the JSON around the content of a file. */
const ENVELOPE_BYTES = 1024;
const OPENERS = {read: openReadable, replace: openReplaceable, update: openUpdatable} as const;

export const fileHandlers = {
	'fs/readFile': async ({path, followSymlinks}, client) => {
		const content = await files.readFile(toNativePath(path), {
			followSymlinks: followSymlinks ?? true,
			admit: (bytes, read) => reserveRead(client, bytes, read),
		});
		return encodeWithBytes({dataBase64: content});
	},

	'fs/writeFile': async ({path, dataBase64, followSymlinks, atomic}, client) => {
		const content = decodeContent(dataBase64);
		const options = {followSymlinks: followSymlinks ?? true, atomic: atomic ?? false};
		await client.flow.reserveRequest(content.length, () => files.writeFile(toNativePath(path), content, options));
		return {};
	},

	'fs/createDirectory': async ({path, recursive, followSymlinks}) => {
		const options = {recursive: recursive ?? true, followSymlinks: followSymlinks ?? true};
		await files.createDirectory(toNativePath(path), options);
		return {};
	},

	'fs/getMetadata': async ({path, followSymlinks}) => {
		return files.getMetadata(toNativePath(path), {followSymlinks: followSymlinks ?? true});
	},

	'fs/canonicalize': async ({path}) => {
		return {path: toUriText(await files.canonicalize(toNativePath(path)))};
	},

	'fs/readDirectory': async ({path}) => {
		return {entries: await files.readDirectory(toNativePath(path))};
	},

	'fs/walk': async ({path, options}) => {
		const pruneHiddenDirectories = options.pruneHiddenDirectories ?? false;
		return files.walk(toNativePath(path), {...options, pruneHiddenDirectories});
	},

	'fs/remove': async ({path, recursive, force, followSymlinks}) => {
		await files.remove(toNativePath(path), {
			recursive: recursive ?? true,
			force: force ?? true,
			followSymlinks: followSymlinks ?? true,
		});
		return {};
	},

	'fs/copy': async ({sourcePath, destinationPath, recursive}) => {
		await files.copy(toNativePath(sourcePath), toNativePath(destinationPath), {recursive});
		return {};
	},

	'fs/rename': async ({sourcePath, destinationPath, overwrite}) => {
		await files.rename(toNativePath(sourcePath), toNativePath(destinationPath), {overwrite: overwrite ?? false});
		return {};
	},
} satisfies Handlers<ClientConnection>;

function decodeContent(dataBase64: string | Uint8Array): Uint8Array {
	try {
		return toBytes(dataBase64);
	} catch (error) {
		if (!(error instanceof Base64Error)) throw error;
		throw refusedError(`fs/writeFile requires valid base64 dataBase64: ${error.message}`);
	}
}

async function reserveRead(
	client: ClientConnection,
	bytes: number,
	read: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
	if (bytes < MIN_BULK_BYTES) return read();
	const maxBytes = Math.floor((client.maxReplyBytes - ENVELOPE_BYTES) / 4) * 3;
	if (bytes <= maxBytes) return client.flow.reserveReply(bytes, read);
	throw refusedError(`file is too large for one message: limit is ${maxBytes} bytes; read it in blocks (fs/open)`);
}

export const fileHandleHandlers = {
	'fs/open': withFileErrors(async ({handleId, path, mode}, client) => {
		const native = toNativePath(path);
		await client.files.handles.open(handleId, () => OPENERS[mode](native));
		return {handleId};
	}),

	'fs/readBlock': withFileErrors(async ({handleId, offset, len}, client) => {
		const {handles} = client.files;
		handles.find(handleId);
		requireBlockLength('read', len);
		return client.flow.reserveReply(len, async () => {
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
