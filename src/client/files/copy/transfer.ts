import {type OptionTable, readOptions} from '../../../shared/call-options.js';
import {describePath} from '../../paths.js';
import {FileError, wrapFileErrors} from '../file-error.js';
import {
	type EnvironmentLocation,
	type FileLocation,
	metadataIfExists,
	requireFreeTarget,
	toFileLocation,
	type UriLocation,
} from '../file-location.js';
import type {Progress, TransferOutcome} from '../files.js';
import {copyPlainTree} from './copy-plain-tree.js';
import {bothSupportTransfer, copyContent, copyWholeFile} from './copy-whole-file.js';
import {rootOption} from './guard-links.js';
import {isUriWithin} from './relocation.js';
import {streamTree} from './stream-tree.js';

/** Figures of a transfer so far. */
export interface TransferProgress extends Progress {
	/** Estimate of the final figures; undefined if the executor cannot tell. */
	readonly total: Progress | undefined;
}

/** Options of `transfer`. */
export interface TransferOptions {
	readonly progress?: ((progress: TransferProgress) => void) | undefined;
	readonly signal?: AbortSignal | undefined;
	/** Whether files replace existing ones. */
	readonly overwrite?: boolean | undefined;
	/** Read every file back where the ends cannot tell checksums. Where they can, checksums are always compared. */
	readonly verify?: boolean | undefined;
}

/** Figures of a transfer that is over. */
export interface TransferResult extends Progress {
	/** Entries that were left out. */
	readonly errors: TransferOutcome['errors'];
	/** How the content of the target was compared with that of the source. */
	readonly checked: 'checksum' | 'read-back' | 'size';
}

/** Source and target of a transfer. */
export interface TransferRoute {
	readonly from: FileLocation;
	readonly to: FileLocation;
}

/** Source and target of a copy, each with the files or with the environment they are in. */
export interface CopyRoute {
	readonly from: FileLocation | EnvironmentLocation;
	readonly to: FileLocation | EnvironmentLocation;
}

/** The route with the files of both ends; throws a `TypeError` for an end that has neither files nor an environment. */
export function toTransferRoute({from, to}: CopyRoute): TransferRoute {
	return {from: toFileLocation(from, 'from'), to: toFileLocation(to, 'to')};
}

const TRANSFER_OPTIONS: OptionTable<TransferOptions> = {
	progress: 'function',
	signal: 'signal',
	overwrite: 'flag',
	verify: 'flag',
};

/**
 * Copies a file or a tree once, to any path of any machine, this one included. The copy takes the name of the target.
 * Between two longarm executors it travels as one stream, with modes, times and links; otherwise file by file, with
 * contents only and without links. `copyFiles` is the copy that resumes and retries.
 */
export async function transfer(ends: CopyRoute, options: TransferOptions = {}): Promise<TransferResult> {
	const route = toTransferRoute(ends);
	readOptions<TransferOptions>(options, TRANSFER_OPTIONS, 'transfer()');
	options.signal?.throwIfAborted();
	return wrapFileErrors(route.to.path, () => copyOnce(route, options));
}

async function copyOnce(route: TransferRoute, options: TransferOptions): Promise<TransferResult> {
	const {from, to} = route;
	const {isDirectory, isFile, size} = await from.files.metadata(from.path);
	if (isDirectory && from.files === to.files && isUriWithin(to.path, from.path)) {
		const message = 'a directory cannot be copied into itself';
		throw new FileError('refused', message, {path: describePath(to.path)});
	}
	if (isDirectory) {
		return (await bothSupportTransfer(route)) ? transferStream(route, options) : transferFileByFile(route, options);
	}
	if (!isFile) {
		const message = 'path is neither a directory nor a regular file';
		throw new FileError('refused', message, {path: describePath(from.path)});
	}
	if (!options.overwrite) await requireFreeTarget(to);
	return copyWholeFile(route, options, size);
}

async function transferStream({from, to}: TransferRoute, options: TransferOptions): Promise<TransferResult> {
	const {signal, progress, overwrite = false} = options;
	const onProgress = progress && ((written: Progress, total: Progress) => progress({...written, total}));
	const {sent, received} = await streamTree(from, to, {overwrite, signal, onProgress});
	const {entries, bytes, errors} = received;
	return {entries, bytes, errors: [...sent.errors, ...errors], checked: 'checksum'};
}

async function transferFileByFile({from, to}: TransferRoute, options: TransferOptions): Promise<TransferResult> {
	const {signal, progress, overwrite = false, verify = false} = options;
	const mustBeFree = !overwrite && (await metadataIfExists(to)) !== undefined;
	let [entries, bytes] = [0, 0];
	let errors: TransferResult['errors'] = [];
	const report = (newEntries: number, newBytes: number) => {
		entries += newEntries;
		bytes += newBytes;
		progress?.({entries, bytes, total: undefined});
	};
	await copyPlainTree(
		from,
		to,
		{
			createDirectory: async (target: UriLocation) => {
				await to.files.createDirectory(target.path, rootOption(target));
				report(1, 0);
			},
			reportErrors: found => (errors = found),
			copyFile: async (source, target) => {
				if (mustBeFree) await requireFreeTarget(target);
				await copyContent(source, target, {verify, signal, onBytes: count => report(0, count)});
				report(1, 0);
			},
			runStep: (_source, step) => step(),
		},
		signal,
	);
	return {entries, bytes, errors, checked: verify ? 'read-back' : 'size'};
}
