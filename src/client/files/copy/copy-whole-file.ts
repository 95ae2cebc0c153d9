import {randomId} from '../../../shared/random-id.js';
import {describePath, type Path, toPathUri, uriChild, uriName, uriParent} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {FileLocation} from '../file-location.js';
import type {Files} from '../files.js';
import {BlockDigest} from '../streams/block-digest.js';
import {streamTree} from './stream-tree.js';
import type {TransferOptions, TransferResult, TransferRoute} from './transfer.js';

/** Copies one file from its first byte: as a stream with a checksum where both ends have one, else by its content. */
export async function copyWholeFile(
	route: TransferRoute,
	options: TransferOptions,
	size: number | undefined,
): Promise<TransferResult> {
	const {from, to} = route;
	const canStage = (await to.files.supports('rename')) && (await bothSupportTransfer(route));
	if (canStage) return copyStagedFile(route, options);
	const total = size === undefined ? undefined : {entries: 1, bytes: size};
	const {progress, signal, verify = false} = options;
	let bytes = 0;
	await copyContent(from, to, {
		verify,
		signal,
		onBytes: count => {
			bytes += count;
			progress?.({entries: 0, bytes, total});
		},
	});
	progress?.({entries: 1, bytes, total});
	return {entries: 1, bytes, errors: [], checked: verify ? 'read-back' : 'size'};
}

export async function bothSupportTransfer({from, to}: TransferRoute): Promise<boolean> {
	return (await from.files.supports('transfer')) && to.files.supports('transfer');
}

/** The file is unpacked into a staging directory beside the target and renamed: no reader sees half of it. */
async function copyStagedFile({from, to}: TransferRoute, options: TransferOptions): Promise<TransferResult> {
	const {signal, progress, overwrite = false} = options;
	const target = toPathUri(to.path);
	const staging = uriChild(uriParent(target), `.longarm-${randomId()}`);
	try {
		const {sent, received} = await streamTree(
			from,
			{files: to.files, path: staging},
			{overwrite, signal, onProgress: progress && ((written, total) => progress({...written, total}))},
		);
		const [failure] = [...sent.errors, ...received.errors];
		if (failure) throw new FileError('failed', failure.message, {path: describePath(from.path)});
		await to.files.rename(uriChild(staging, uriName(toPathUri(from.path))), target, {overwrite});
		return {entries: received.entries, bytes: received.bytes, errors: [], checked: 'checksum'};
	} finally {
		await removeIfPossible(to.files, staging);
	}
}

/** A staging directory that stays is harmless; the failure before it is the one to report. */
async function removeIfPossible(files: Files, path: Path): Promise<void> {
	try {
		await files.remove(path);
	} catch {
		// See above.
	}
}

export interface ContentOptions {
	/** Whether the target is read back and compared. Its size always is, where the executor tells it. */
	readonly verify: boolean;
	readonly signal: AbortSignal | undefined;
	readonly onBytes: (count: number) => void;
}

/** Copies the bytes of a file to another, without mode and times, by the methods that every executor has. */
export async function copyContent(from: FileLocation, to: FileLocation, options: ContentOptions): Promise<void> {
	const {verify, signal, onBytes} = options;
	let length = 0;
	const digest = verify ? new BlockDigest() : undefined;
	const counter = new TransformStream<Uint8Array, Uint8Array>({
		transform: async (chunk, controller) => {
			await digest?.add(chunk);
			controller.enqueue(chunk);
			length += chunk.length;
			onBytes(chunk.length);
		},
	});
	await from.files
		.readStream(from.path)
		.pipeThrough(counter)
		.pipeTo(to.files.writeStream(to.path), signal && {signal});
	const {size} = await to.files.metadata(to.path);
	if (size !== undefined && size !== length) throw damagedCopyError(to);
	if (digest && (await digestContent(to, signal)) !== (await digest.finish())) throw damagedCopyError(to);
}

async function digestContent({files, path}: FileLocation, signal: AbortSignal | undefined): Promise<string> {
	const digest = new BlockDigest();
	const sink = new WritableStream<Uint8Array>({write: chunk => digest.add(chunk)});
	await files.readStream(path).pipeTo(sink, signal && {signal});
	return digest.finish();
}

export function damagedCopyError({path}: FileLocation): FileError {
	return new FileError('damaged', 'what arrived is not what was sent', {path: describePath(path)});
}
