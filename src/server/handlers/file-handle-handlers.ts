import {nativePath} from '../../adapters/file-paths.js';
import {openReadable, openReplaceable, openUpdatable, requireBlockLength} from '../../filesystem/file-handles.js';
import {translated} from '../../filesystem/index.js';
import {JsonParts} from '../../protocol/wire/encode.js';
import {bulkBlocks} from '../../shared/node/buffer-pool.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

const OPENERS = {read: openReadable, replace: openReplaceable, update: openUpdatable} as const;

export const fileHandleHandlers = {
	'fs/open': translated(async ({handleId, path, mode}, client) => {
		const native = nativePath(path);
		await client.files.handles.open(handleId, () => OPENERS[mode](native));
		return {handleId};
	}),

	'fs/readBlock': translated(async ({handleId, offset, len}, client) => {
		const {handles} = client.files;
		handles.find(handleId);
		requireBlockLength('read', len);
		return client.room.reply(len, async () => {
			const block = bulkBlocks.take();
			try {
				const {length, eof, progress} = await handles.read(handleId, block.subarray(0, len), offset);
				const rest = `","eof":${eof}${progress ? `,"progress":${JSON.stringify(progress)}` : ''}}`;
				return new JsonParts(['{"chunk":"', block.subarray(0, length), rest], () => bulkBlocks.give(block));
			} catch (error) {
				bulkBlocks.give(block);
				throw error;
			}
		});
	}),

	'fs/writeBlock': translated(async ({handleId, offset, chunk}, client, request) => {
		const {handles} = client.files;
		handles.find(handleId);
		requireBlockLength('write', chunk.length);
		const progress = await client.room.request(chunk.length, () => handles.write(handleId, chunk, offset));
		request.release?.();
		return progress ? {progress} : {};
	}),

	'fs/close': translated(async ({handleId}, client) => {
		await client.files.handles.close(handleId);
		return {};
	}),
} satisfies Handlers<ClientConnection>;
