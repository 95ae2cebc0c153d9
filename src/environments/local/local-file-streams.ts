import type {BlockSource} from '../../client/files/block-reader.js';
import type {BlockTarget} from '../../client/files/block-writer.js';
import {about} from '../../client/files/file-error.js';
import type {Path} from '../../client/paths.js';
import type {BytePath} from '../../filesystem/byte-path.js';
import {type BlockDevice, openReadable, openReplaceable} from '../../filesystem/file-handles.js';
import {translated} from '../../filesystem/index.js';

/** A file of this machine to be read in blocks; the path as it was given is for messages. */
export async function openToRead(path: BytePath, given: Path): Promise<BlockSource> {
	const device = await translated(openReadable)(path);
	return {
		read: (offset, length) => about(given, () => readBlock(device, offset, length)),
		end: () => device.close(),
		abandon: () => abandon(device),
	};
}

export async function openToReplace(path: BytePath, given: Path): Promise<BlockTarget> {
	const device = await translated(openReplaceable)(path);
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
