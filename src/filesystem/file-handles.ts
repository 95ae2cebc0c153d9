import {LongarmError} from '../shared/errors.js';
import {type IdRefusal, IdTable} from '../shared/id-table.js';
import type {LinkOptions} from './below-root.js';
import type {BytePath} from './byte-path.js';
import {refusedError, systemError} from './file-errors.js';
import {openToRead, openToReplace, openToUpdate, type UpdateOptions} from './open-file.js';
import {MAX_SYNC_BYTES} from './read-file.js';
import {SharedDescriptor} from './shared-descriptor.js';
import {asyncCalls, preferredCalls} from './syscalls.js';
import {writeAll} from './write-file.js';

export const MAX_HANDLES = 128;
export const MAX_HANDLE_ID_BYTES = 32;
export const MAX_BLOCK_BYTES = 1024 * 1024;
/** Keeps offset plus block a safe integer; no file system reaches it. */
const MAX_OFFSET = Number.MAX_SAFE_INTEGER - MAX_BLOCK_BYTES;

/** Progress of a transfer. */
export interface HandleProgress {
	readonly entries: number;
	/** Of file content. */
	readonly bytes: number;
}

export interface FileBlock {
	/** Number of bytes of the target that were filled. */
	readonly length: number;
	/** True at the end of the file or stream. */
	readonly eof: boolean;
	readonly progress?: HandleProgress;
}

/** File behind a handle, or a stream that is read or written sequentially. */
export interface BlockDevice {
	read?(target: Uint8Array, offset: number): Promise<FileBlock>;
	/** The chunk may be reused once the promise settles. */
	write?(chunk: Uint8Array, offset: number): Promise<HandleProgress | undefined>;
	/** Rejects if the system could not store what was written. */
	close(): Promise<void>;
}

/** Open handles of one connection, by the ids its client chose. */
export class FileHandles {
	readonly #devices = new IdTable<BlockDevice>({
		maxEntries: MAX_HANDLES,
		maxIdBytes: MAX_HANDLE_ID_BYTES,
		toError: (refusal, id) => refusedError(describeIdRefusal(refusal, id)),
	});
	#isClosed = false;

	/** Reserves the id before opening, so that two opens with the same id cannot both succeed. */
	async open<D extends BlockDevice>(id: string, open: () => Promise<D>): Promise<D> {
		this.#devices.reserve(id);
		let device: D | undefined;
		try {
			device = await open();
		} finally {
			if (!device || this.#isClosed) this.#devices.delete(id);
		}
		if (this.#isClosed) await device.close();
		else this.#devices.set(id, device);
		return device;
	}

	/** Throws for an unknown id, one that is too long, and one that is still being opened. */
	find(id: string): BlockDevice {
		const device = this.#devices.get(id);
		if (device) return device;
		this.#devices.requireLength(id);
		throw new LongarmError('FILE_NOT_FOUND', {message: `unknown file handle \`${id}\``, context: {handleId: id}});
	}

	/** Fills the target; a failed read closes the handle. */
	async read(id: string, target: Uint8Array, offset: number): Promise<FileBlock> {
		const device = this.find(id);
		if (!device.read) throw systemError('EBADF');
		if (offset > MAX_OFFSET) return {length: 0, eof: true};
		try {
			return await device.read(target, offset);
		} catch (error) {
			// The error of the read takes precedence over one of closing.
			if (this.#devices.get(id) === device) await this.close(id).catch(() => {});
			throw error;
		}
	}

	async write(id: string, chunk: Uint8Array, offset: number): Promise<HandleProgress | undefined> {
		const device = this.find(id);
		if (!device.write) throw systemError('EBADF');
		if (offset > MAX_OFFSET) throw systemError('EFBIG');
		return device.write(chunk, offset);
	}

	/** No-op for an unknown id; throws for one that is too long. */
	async close(id: string): Promise<void> {
		const device = this.#devices.get(id);
		if (!device) {
			this.#devices.requireLength(id);
			return;
		}
		this.#devices.delete(id);
		await device.close();
	}

	/** Closes all handles, when the connection is closed: errors have no recipient. */
	closeAll(): void {
		this.#isClosed = true;
		this.#devices.close();
		for (const id of this.#devices.ids()) this.close(id).catch(() => {});
	}
}

function describeIdRefusal(refusal: IdRefusal, id: string): string {
	switch (refusal) {
		case 'length':
			return `file handle ID must not exceed ${MAX_HANDLE_ID_BYTES} bytes`;
		case 'closed':
			return 'the connection is closed';
		case 'taken':
			return `file handle \`${id}\` already exists`;
		case 'full':
			return `at most ${MAX_HANDLES} file handles may be open per connection`;
	}
}

/** Throws unless the length is that of a block. */
export function requireBlockLength(kind: 'read' | 'write', length: number): void {
	if (length >= 1 && length <= MAX_BLOCK_BYTES) return;
	throw refusedError(`file ${kind} block length must be between 1 and ${MAX_BLOCK_BYTES}`);
}

/** Opens a file for positional reads. It stays the same inode, whatever happens to its name. */
export async function openReadable(path: BytePath, links: LinkOptions): Promise<BlockDevice> {
	const {fd} = await openToRead(preferredCalls(path), path, links);
	const descriptor = new SharedDescriptor(fd);
	return {
		read: (target, offset) => descriptor.use(open => readFully(open, target, offset)),
		close: () => descriptor.close(),
	};
}

/** Opens a file for positional writes: truncated, or created. */
export async function openReplaceable(path: BytePath, links: LinkOptions): Promise<BlockDevice> {
	return createWriteDevice((await openToReplace(preferredCalls(path), path, links)).fd);
}

/** Opens a file for positional writes without truncating it; a new one is readable by its owner only. */
export async function openUpdatable(path: BytePath, options: UpdateOptions): Promise<BlockDevice> {
	return createWriteDevice((await openToUpdate(preferredCalls(path), path, options)).fd);
}

function createWriteDevice(fd: number): BlockDevice {
	const descriptor = new SharedDescriptor(fd);
	return {
		write: async (chunk, offset) => {
			const calls = chunk.length <= MAX_SYNC_BYTES ? preferredCalls() : asyncCalls;
			await descriptor.use(open => writeAll(calls, open, chunk, offset));
			return undefined;
		},
		close: () => descriptor.close(),
	};
}

async function readFully(fd: number, target: Uint8Array, offset: number): Promise<FileBlock> {
	const calls = target.length <= MAX_SYNC_BYTES ? preferredCalls() : asyncCalls;
	let length = 0;
	while (length < target.length) {
		const got = await calls.read(fd, length === 0 ? target : target.subarray(length), offset + length);
		if (got === 0) break;
		length += got;
	}
	return {length, eof: length < target.length};
}
