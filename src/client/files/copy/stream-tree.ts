import type {FileLocation, RootedLocation} from '../file-location.js';
import type {Progress, TransferOutcome} from '../files.js';
import {atLocation} from './copy-context.js';
import {rootOption} from './guard-links.js';

export interface StreamTreeOptions {
	/** Entries to send, each without its children; the whole tree unless given. Needs `resume` at the source. */
	readonly names?: readonly string[] | undefined;
	/** Whether files and links replace existing ones. */
	readonly overwrite: boolean;
	/** See `UnpackOptions.partial`. */
	readonly partial?: boolean;
	readonly sync?: boolean | undefined;
	readonly signal: AbortSignal | undefined;
	/** See `StreamOptions.blockBytes`. */
	readonly blockBytes?: number | undefined;
	/** Called with what the target has written, and with the totals of the source. */
	readonly onProgress?: ((written: Progress, totals: Progress) => void) | undefined;
}

/** Outcomes of both ends; their errors name entries that were left out. */
export interface StreamedTree {
	readonly sent: TransferOutcome;
	readonly received: TransferOutcome;
}

/** Pipes a packed file or tree into an unpacker as one stream. The target fails with `damaged` if the checksums differ. */
export async function streamTree(
	from: FileLocation,
	to: RootedLocation,
	{names, overwrite, partial = false, sync, signal, blockBytes, onProgress}: StreamTreeOptions,
): Promise<StreamedTree> {
	const packed = await atLocation(from, () => from.files.pack(from.path, {names, signal, blockBytes}));
	noteFailures(from, packed.outcome);
	let isPiped = false;
	try {
		const options = {
			overwrite,
			partial,
			sync,
			signal,
			blockBytes,
			...rootOption(to),
			checksum: async () => (await packed.outcome).sha256,
			...(onProgress && {progress: (written: Progress) => onProgress(written, packed.totals)}),
		};
		const unpacked = await atLocation(to, () => to.files.unpack(to.path, options));
		// The pipe fails with the error of the end that failed first.
		noteFailures(to, unpacked.outcome);
		isPiped = true;
		await packed.stream.pipeTo(unpacked.stream, signal && {signal});
		const [sent, received] = await Promise.all([packed.outcome, unpacked.outcome]);
		return {sent, received};
	} finally {
		// A pipe closes both of its ends; without one the source has to be released here.
		if (!isPiped) await packed.stream.cancel();
	}
}

function noteFailures(location: FileLocation, outcome: Promise<TransferOutcome>): void {
	atLocation(location, () => outcome).catch(() => {});
}
