import {toNativePath} from '../../adapters/file-paths.js';
import {withFileErrors} from '../../filesystem/file-errors.js';
import {openReadable, openReplaceable, openUpdatable, requireBlockLength} from '../../filesystem/file-handles.js';
import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {payloadBuffers} from '../../shared/node/buffer-pool.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

const OPENERS = {read: openReadable, replace: openReplaceable, update: openUpdatable} as const;

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
