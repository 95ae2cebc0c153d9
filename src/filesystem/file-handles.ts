import {LongarmError} from '../shared/errors.js';
import type {BytePath} from './byte-path.js';
import {refused, systemError} from './file-errors.js';
import {openToRead, openToReplace, openToUpdate} from './open-file.js';
import {QUICK_BYTES} from './read-file.js';
import {SharedDescriptor} from './shared-descriptor.js';
import {asyncCalls, preferredCalls} from './syscalls.js';
import {writeAll} from './write-file.js';

export const MAX_HANDLES = 128;
export const MAX_HANDLE_ID_BYTES = 32;
export const MAX_BLOCK_BYTES = 1024 * 1024;
/** Beyond it neither this program nor any file system counts. */
const MAX_OFFSET = Number.MAX_SAFE_INTEGER - MAX_BLOCK_BYTES;
const EBADF = 9;
const EFBIG = 27;

/** How far a transfer has come. */
export interface HandleProgress {
	readonly entries: number;
	/** Of file content. */
	readonly bytes: number;
}

export interface FileBlock {
	/** How many bytes of the target were filled. */
	readonly length: number;
	/** Nothing more will come. */
	readonly eof: boolean;
	readonly progress?: HandleProgress;
}

/** What stands behind a handle: a file, or a stream that is read or written from front to back. */
export interface BlockDevice {
	read?(target: Uint8Array, offset: number): Promise<FileBlock>;
	/** When it settles the chunk is not looked at any more. */
	write?(chunk: Uint8Array, offset: number): Promise<HandleProgress | undefined>;
	/** Fails when the system could not keep what was written. */
	close(): Promise<void>;
}

/** The handles of one connection, by the names its client gave them. */
export class FileHandles {
	readonly #devices = new Map<string, BlockDevice | 'opening'>();
	#isClosed = false;

	/** Takes the id at once, so that two opens of the same id cannot both succeed. */
	async open<D extends BlockDevice>(id: string, open: () => Promise<D>): Promise<D> {
		this.#requireFree(id);
		this.#devices.set(id, 'opening');
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

	/** The device behind the id; there is none while it is being opened. */
	find(id: string): BlockDevice {
		const device = this.#devices.get(id);
		if (device && device !== 'opening') return device;
		throw new LongarmError('FILE_NOT_FOUND', {message: `unknown file handle \`${id}\``, context: {handleId: id}});
	}

	/** Fills the target; a handle that could not be read is closed. */
	async read(id: string, target: Uint8Array, offset: number): Promise<FileBlock> {
		const device = this.find(id);
		if (!device.read) throw systemError('EBADF', EBADF);
		if (offset > MAX_OFFSET) return {length: 0, eof: true};
		try {
			return await device.read(target, offset);
		} catch (error) {
			// The failure of the read is the one to tell.
			if (this.#devices.get(id) === device) await this.close(id).catch(() => {});
			throw error;
		}
	}

	async write(id: string, chunk: Uint8Array, offset: number): Promise<HandleProgress | undefined> {
		const device = this.find(id);
		if (!device.write) throw systemError('EBADF', EBADF);
		if (offset > MAX_OFFSET) throw systemError('EFBIG', EFBIG);
		return device.write(chunk, offset);
	}

	/** Unknown ids are closed already. */
	async close(id: string): Promise<void> {
		const device = this.#devices.get(id);
		if (!device || device === 'opening') return;
		this.#devices.delete(id);
		await device.close();
	}

	/** The connection is gone: nobody is left to tell of failures. */
	closeAll(): void {
		this.#isClosed = true;
		for (const id of this.#devices.keys()) this.close(id).catch(() => {});
	}

	#requireFree(id: string): void {
		if (Buffer.byteLength(id) > MAX_HANDLE_ID_BYTES) {
			throw refused(`file handle ID must not exceed ${MAX_HANDLE_ID_BYTES} bytes`);
		}
		if (this.#devices.has(id)) throw refused(`file handle \`${id}\` already exists`);
		if (this.#devices.size >= MAX_HANDLES) {
			throw refused(`at most ${MAX_HANDLES} file handles may be open per connection`);
		}
	}
}

/** Refuses lengths no block may have. */
export function requireBlockLength(kind: 'read' | 'write', length: number): void {
	if (length >= 1 && length <= MAX_BLOCK_BYTES) return;
	throw refused(`file ${kind} block length must be between 1 and ${MAX_BLOCK_BYTES}`);
}

/** A file for positional reads; it stays the same file whatever happens to its name. */
export async function openReadable(path: BytePath): Promise<BlockDevice> {
	const {fd} = await openToRead(preferredCalls(), path, true);
	const descriptor = new SharedDescriptor(fd);
	return {
		read: (target, offset) => descriptor.use(held => readFully(held, target, offset)),
		close: () => descriptor.close(),
	};
}

/** An emptied or new file for positional writes. */
export async function openReplaceable(path: BytePath): Promise<BlockDevice> {
	return writable((await openToReplace(preferredCalls(), path, true)).fd);
}

/** A file for positional writes that keeps the content it has; nobody else reads a new one. */
export async function openUpdatable(path: BytePath): Promise<BlockDevice> {
	return writable((await openToUpdate(preferredCalls(), path)).fd);
}

function writable(fd: number): BlockDevice {
	const descriptor = new SharedDescriptor(fd);
	return {
		write: async (chunk, offset) => {
			const calls = chunk.length <= QUICK_BYTES ? preferredCalls() : asyncCalls;
			await descriptor.use(held => writeAll(calls, held, chunk, offset));
			return undefined;
		},
		close: () => descriptor.close(),
	};
}

async function readFully(fd: number, target: Uint8Array, offset: number): Promise<FileBlock> {
	const calls = target.length <= QUICK_BYTES ? preferredCalls() : asyncCalls;
	let length = 0;
	while (length < target.length) {
		const got = await calls.read(fd, length === 0 ? target : target.subarray(length), offset + length);
		if (got === 0) break;
		length += got;
	}
	return {length, eof: length < target.length};
}
