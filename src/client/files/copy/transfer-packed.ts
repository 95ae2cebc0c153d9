import {randomId} from '../../../shared/random-id.js';
import {describePath, toPathUri, uriChild, uriName, uriParent} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {TransferOutcome} from '../files.js';
import type {TransferOptions, TransferResult, TransferRoute} from './transfer.js';

/** A tree as one stream; the ends compare its checksum. */
export async function packedTree(route: TransferRoute, options: TransferOptions): Promise<TransferResult> {
	const {sent, received} = await stream(route, options);
	const {entries, bytes, errors} = received;
	return {entries, bytes, errors: [...sent.errors, ...errors], checked: 'checksum'};
}

/** A file arrives beside its place and is put there in one step: nobody sees half of it. */
export async function packedFile({from, to}: TransferRoute, options: TransferOptions): Promise<TransferResult> {
	const target = toPathUri(to.path);
	const aside = uriChild(uriParent(target), `.longarm-${randomId()}`);
	try {
		const {sent, received} = await stream({from, to: {files: to.files, path: aside}}, options);
		const [complaint] = [...sent.errors, ...received.errors];
		if (complaint) throw new FileError('failed', complaint.message, {path: describePath(from.path)});
		const arrived = uriChild(aside, uriName(toPathUri(from.path)));
		await to.files.rename(arrived, target, {overwrite: options.overwrite ?? false});
		return {entries: received.entries, bytes: received.bytes, errors: [], checked: 'checksum'};
	} finally {
		await removed(to.files.remove(aside));
	}
}

async function stream({from, to}: TransferRoute, options: TransferOptions) {
	const {signal, progress, overwrite = false} = options;
	const packed = await from.files.pack(from.path, {signal});
	const {totals: total} = packed;
	let stopped: Promise<void> | undefined;
	try {
		const unpacked = await to.files.unpack(to.path, {
			overwrite,
			signal,
			checksum: async () => (await packed.outcome).sha256,
			...(progress && {progress: reached => progress({...reached, total})}),
		});
		stopped = packed.stream.pipeTo(unpacked.stream, signal && {signal});
		await stopped;
		const [sent, received]: [TransferOutcome, TransferOutcome] = await Promise.all([packed.outcome, unpacked.outcome]);
		return {sent, received};
	} finally {
		// A pipe gives back both of its ends; without one there is nobody else to do it.
		if (!stopped) await packed.stream.cancel();
	}
}

/** What is left aside is in nobody's way; the failure before is the one to tell. */
async function removed(removal: Promise<void>): Promise<void> {
	try {
		await removal;
	} catch {
		// See above.
	}
}
