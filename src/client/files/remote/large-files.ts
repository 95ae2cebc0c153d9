import {MAX_MESSAGE_BYTES} from '../../../protocol/wire/message-limits.js';
import {describePath, type Path} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {Files, FollowOptions, WriteOptions} from '../files.js';

/** Bytes of a request besides its content: the longest path, and the member names. */
const ENVELOPE_BYTES = 64 * 1024;
/** Largest content that fits a request, as base64. */
export const MAX_CONTENT_BYTES = ((MAX_MESSAGE_BYTES - ENVELOPE_BYTES) / 4) * 3;
/** Largest file that is read as a whole, as on this machine. */
export const MAX_WHOLE_FILE_BYTES = 512 * 1024 * 1024;
/** End of the message of a server that does not send a file of this size at once. */
const TOO_LARGE = /\(fs\/open\)$/;

type StreamedFiles = Pick<Files, 'metadata' | 'readStream' | 'writeStream' | 'supports'>;

/** Reads a file with one message, or in blocks if it is too large for that. Memory: the file, and 1 MiB. */
export async function readAnySize(
	files: StreamedFiles,
	path: Path,
	options: FollowOptions,
	readMessage: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
	if ((await sendsAnySize(files, options)) && (await sizeOf(files, path, options)) > MAX_CONTENT_BYTES) {
		return readInBlocks(files, path, options);
	}
	try {
		return await readMessage();
	} catch (error) {
		if (!isTooLarge(error) || !(await canStream(files, options))) throw error;
		return readInBlocks(files, path, options);
	}
}

/** Writes content in blocks that is too large for one message. */
export async function writeInBlocks(
	files: StreamedFiles,
	path: Path,
	bytes: Uint8Array,
	options: WriteOptions,
): Promise<void> {
	if (options.atomic || !(await files.supports('writeStreaming')) || !(await canStream(files, options))) {
		const message = `content is larger than the ${MAX_CONTENT_BYTES} bytes that fit a message; use writeStream`;
		throw new FileError('refused', message, {path: describePath(path)});
	}
	const writer = files.writeStream(path, toStreamOptions(options)).getWriter();
	await writer.write(bytes);
	await writer.close();
}

/** Upstream's servers send any file in one message, and one that is too long ends the connection. */
async function sendsAnySize(files: StreamedFiles, {sandbox}: FollowOptions): Promise<boolean> {
	return !sandbox && (await files.supports('writeStreaming')) && !(await files.supports('transfer'));
}

/** A file that cannot be looked at fails when it is read. */
async function sizeOf(files: StreamedFiles, path: Path, options: FollowOptions): Promise<number> {
	try {
		return (await files.metadata(path, options)).size ?? 0;
	} catch {
		return 0;
	}
}

function isTooLarge(error: unknown): boolean {
	return error instanceof FileError && error.code === 'refused' && TOO_LARGE.test(error.detail);
}

/** Handles know no `followSymlinks`: a root above everything has the same effect. */
async function canStream(files: StreamedFiles, {followSymlinks, sandbox}: FollowOptions): Promise<boolean> {
	if (followSymlinks === false && !(await files.supports('root'))) return false;
	return !sandbox || files.supports('sandboxedStreaming');
}

function toStreamOptions({followSymlinks, root, sandbox}: FollowOptions): Pick<FollowOptions, 'root' | 'sandbox'> {
	return {sandbox, root: root ?? (followSymlinks === false ? 'file:///' : undefined)};
}

async function readInBlocks(files: StreamedFiles, path: Path, options: FollowOptions): Promise<Uint8Array> {
	const {size = 0} = await files.metadata(path, options);
	if (size > MAX_WHOLE_FILE_BYTES) throw tooLargeError(path);
	let content = new Uint8Array(size);
	let length = 0;
	for await (const block of files.readStream(path, toStreamOptions(options))) {
		if (length + block.length > MAX_WHOLE_FILE_BYTES) throw tooLargeError(path);
		// It has grown since.
		if (length + block.length > content.length) content = enlarge(content, length + block.length);
		content.set(block, length);
		length += block.length;
	}
	return content.subarray(0, length);
}

function enlarge(content: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
	const larger = new Uint8Array(Math.min(size * 2, MAX_WHOLE_FILE_BYTES));
	larger.set(content);
	return larger;
}

function tooLargeError(path: Path): FileError {
	const message = `file is too large to read: limit is ${MAX_WHOLE_FILE_BYTES} bytes`;
	return new FileError('refused', message, {path: describePath(path)});
}
