import {about} from '../../client/files/file-error.js';
import type {ListOptions} from '../../client/files/files.js';
import type {BlockSource} from '../../client/files/streams/block-reader.js';
import type {BlockTarget} from '../../client/files/streams/block-writer.js';
import type {Path} from '../../client/paths.js';
import {listTree} from '../../filesystem/archive/index.js';
import type {BytePath} from '../../filesystem/byte-path.js';
import {type BlockDevice, openReadable, openReplaceable, openUpdatable} from '../../filesystem/file-handles.js';
import {translated} from '../../filesystem/index.js';
import {percentEncode} from '../../protocol/path-uri/path-uri-encoding.js';

/** A file of this machine to be read in blocks; the path as it was given is for messages. */
export async function openToRead(path: BytePath, given: Path): Promise<BlockSource> {
	return sourceOf(await translated(openReadable)(path), given);
}

function sourceOf(device: BlockDevice, given: Path): BlockSource {
	return {
		read: (offset, length) => about(given, () => readBlock(device, offset, length)),
		end: () => device.close(),
		abandon: () => abandon(device),
	};
}

export async function openToReplace(path: BytePath, given: Path): Promise<BlockTarget> {
	return targetOf(await translated(openReplaceable)(path), given);
}

export async function openToUpdate(path: BytePath, given: Path): Promise<BlockTarget> {
	return targetOf(await translated(openUpdatable)(path), given);
}

export async function openList(path: BytePath, given: Path, {depth, names}: ListOptions): Promise<BlockSource> {
	return sourceOf(await listTree(path, {depth, names: names?.map(percentEncode)}), given);
}

function targetOf(device: BlockDevice, given: Path): BlockTarget {
	const write = translated(async (chunk: Uint8Array, offset: number) => {
		await device.write!(chunk, offset);
	});
	return {
		write: (offset, chunk) => about(given, () => write(chunk, offset)),
		end: () =>
			about(
				given,
				translated(() => device.close()),
			),
		abandon: () => abandon(device),
	};
}

/** Memory of its own for each block: it goes to whoever reads the stream. */
export const readBlock = translated(async (device: BlockDevice, offset: number, length: number) => {
	const target = Buffer.allocUnsafeSlow(length);
	const {length: got, eof, progress} = await device.read!(target, offset);
	return {chunk: target.subarray(0, got), eof, ...(progress && {progress})};
});

/** Nobody is left to tell of a failure. */
export function abandon(device: BlockDevice): void {
	device.close().catch(() => {});
}
