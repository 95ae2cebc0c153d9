import {randomId} from '../../../shared/random-id.js';
import {describePath, toPathUri, uriName} from '../../paths.js';
import {FileError} from '../file-error.js';
import {
	childLocation,
	type FileLocation,
	type RootedLocation,
	siblingLocation,
	type UriLocation,
} from '../file-location.js';
import {BlockDigest} from '../streams/block-digest.js';
import {rootOption} from './guard-links.js';
import {streamTree} from './stream-tree.js';
import type {TransferOptions, TransferResult} from './transfer.js';

interface RootedRoute {
	readonly from: RootedLocation;
	readonly to: RootedLocation;
}

/** Copies one file from its first byte: as a stream with a checksum where both ends have one, else by its content. */
export async function copyWholeFile(
	route: RootedRoute,
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

export async function bothSupportTransfer({from, to}: RootedRoute): Promise<boolean> {
	return (await from.files.supports('transfer')) && to.files.supports('transfer');
}

/** The file is unpacked into a staging directory beside the target and renamed: no reader sees half of it. */
async function copyStagedFile({from, to}: RootedRoute, options: TransferOptions): Promise<TransferResult> {
	const {signal, progress, overwrite = false} = options;
	const staging = siblingLocation({...to, path: toPathUri(to.path)}, () => `.longarm-${randomId()}`);
	try {
		const {sent, received} = await streamTree(from, staging, {
			overwrite,
			signal,
			onProgress: progress && ((written, total) => progress({...written, total})),
		});
		const [failure] = [...sent.errors, ...received.errors];
		if (failure) throw new FileError('failed', failure.message, {path: describePath(from.path)});
		const arrived = childLocation(staging, uriName(toPathUri(from.path)));
		await requireRegular(arrived);
		await to.files.rename(arrived.path, to.path, {overwrite, ...rootOption(to)});
		return {entries: received.entries, bytes: received.bytes, errors: [], checked: 'checksum'};
	} finally {
		await removeIfPossible(staging);
	}
}

/** The stream comes from another machine: a link that took the name of the file would be followed by the next copy. */
async function requireRegular(location: UriLocation): Promise<void> {
	const {isFile, isSymlink} = await location.files.metadata(location.path, rootOption(location));
	if (isFile && !isSymlink) return;
	throw new FileError('invalid-data', 'what arrived is not a regular file', {path: describePath(location.path)});
}

/** A staging directory that stays is harmless; the failure before it is the one to report. */
async function removeIfPossible(location: UriLocation): Promise<void> {
	try {
		await location.files.remove(location.path, rootOption(location));
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
export async function copyContent(from: RootedLocation, to: RootedLocation, options: ContentOptions): Promise<void> {
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
		.readStream(from.path, rootOption(from))
		.pipeThrough(counter)
		.pipeTo(to.files.writeStream(to.path, rootOption(to)), signal && {signal});
	const {size} = await to.files.metadata(to.path, rootOption(to));
	if (size !== undefined && size !== length) throw damagedCopyError(to);
	if (digest && (await digestContent(to, signal)) !== (await digest.finish())) throw damagedCopyError(to);
}

async function digestContent(location: RootedLocation, signal: AbortSignal | undefined): Promise<string> {
	const digest = new BlockDigest();
	const sink = new WritableStream<Uint8Array>({write: chunk => digest.add(chunk)});
	await location.files.readStream(location.path, rootOption(location)).pipeTo(sink, signal && {signal});
	return digest.finish();
}

export function damagedCopyError({path}: FileLocation): FileError {
	return new FileError('damaged', 'what arrived is not what was sent', {path: describePath(path)});
}
