import {wrapFileErrors} from '../../client/files/file-error.js';
import type {ListOptions} from '../../client/files/files.js';
import type {BlockSource} from '../../client/files/streams/block-reader.js';
import type {BlockTarget} from '../../client/files/streams/block-writer.js';
import type {Path} from '../../client/paths.js';
import {listTree} from '../../filesystem/archive/index.js';
import type {LinkOptions} from '../../filesystem/below-root.js';
import type {BytePath} from '../../filesystem/byte-path.js';
import {withFileErrors} from '../../filesystem/file-errors.js';
import {type BlockDevice, openReadable, openReplaceable, openUpdatable} from '../../filesystem/file-handles.js';
import type {UpdateOptions} from '../../filesystem/open-file.js';
import {percentEncode} from '../../protocol/path-uri/path-uri-encoding.js';

/** A file of this machine to be read in blocks; the path as it was given is for messages. */
export async function openLocalRead(path: BytePath, given: Path, links: LinkOptions): Promise<BlockSource> {
	return toBlockSource(await withFileErrors(openReadable)(path, links), given);
}

function toBlockSource(device: BlockDevice, given: Path): BlockSource {
	return {
		read: (offset, length) => wrapFileErrors(given, () => readBlock(device, offset, length)),
		end: () => device.close(),
		abandon: () => abandonHandle(device),
	};
}

export async function openLocalReplace(path: BytePath, given: Path, links: LinkOptions): Promise<BlockTarget> {
	return toBlockTarget(await withFileErrors(openReplaceable)(path, links), given);
}

export async function openLocalUpdate(path: BytePath, given: Path, options: UpdateOptions): Promise<BlockTarget> {
	return toBlockTarget(await withFileErrors(openUpdatable)(path, options), given);
}

export async function openLocalList(
	path: BytePath,
	given: Path,
	{depth, names, after, root}: Pick<ListOptions, 'depth' | 'names' | 'after'> & {root: BytePath | undefined},
): Promise<BlockSource> {
	const encoded = {names: names?.map(percentEncode), after: after === undefined ? undefined : percentEncode(after)};
	return toBlockSource(await listTree(path, {depth, root, ...encoded}), given);
}

function toBlockTarget(device: BlockDevice, given: Path): BlockTarget {
	const write = withFileErrors(async (chunk: Uint8Array, offset: number) => {
		await device.write!(chunk, offset);
	});
	return {
		write: (offset, chunk) => wrapFileErrors(given, () => write(chunk, offset)),
		end: () =>
			wrapFileErrors(
				given,
				withFileErrors(() => device.close()),
			),
		abandon: () => abandonHandle(device),
	};
}

/** A buffer of its own for each block: it is handed to the reader of the stream. */
export const readBlock = withFileErrors(async (device: BlockDevice, offset: number, length: number) => {
	const target = Buffer.allocUnsafeSlow(length);
	const {length: got, eof, progress} = await device.read!(target, offset);
	return {chunk: target.subarray(0, got), eof, ...(progress && {progress})};
});

/** Closes in the background; a failure has no reader any more. */
export function abandonHandle(device: BlockDevice): void {
	device.close().catch(() => {});
}
