import {describePath, uriName, uriParent} from '../../paths.js';
import {FileError, wrapFileErrors} from '../file-error.js';
import {metadataIfExists, type UriLocation} from '../file-location.js';
import type {TransferOutcome} from '../files.js';
import {atLocation, type CopyContext, continueOnFailure} from './copy-context.js';
import {copyPlainTree} from './copy-plain-tree.js';
import {copyWholeFile} from './copy-whole-file.js';
import {rootOption} from './guard-links.js';
import {uniqueLocation} from './partial-file.js';

/** Copies a file from or to an executor without `resume`: from its first byte, compared by reading it back. */
export async function copyFileFallback(from: UriLocation, to: UriLocation, context: CopyContext): Promise<void> {
	const {stats, overwrite, sync} = context;
	stats.startEntry(uriName(to.path));
	const {size, modifiedAtMs} = await from.files.metadata(from.path);
	const keepsTimes = await to.files.supports('resume');
	const target = await metadataIfExists(to);
	if (target?.isDirectory) {
		throw new FileError('refused', 'a directory is in the way', {path: describePath(to.path)});
	}
	const isSame = keepsTimes && target?.size === size && target?.modifiedAtMs === modifiedAtMs;
	if (target && (!overwrite || isSame)) {
		stats.skipFile(to.path.href, size ?? 0);
		return;
	}
	const canRename = await to.files.supports('rename');
	const partial = canRename ? uniqueLocation(to) : to;
	await copyOrRemove(from, partial, size, context);
	if (keepsTimes) {
		const change = {name: uriName(partial.path), modifiedAtMs};
		const options = {sync, ...rootOption(partial)};
		await atLocation(to, () => to.files.setAttributes(uriParent(partial.path), [change], options));
	}
	if (canRename) {
		await atLocation(to, () => to.files.rename(partial.path, to.path, {overwrite, sync, ...rootOption(to)}));
	}
	stats.addCopiedFiles(1);
}

/** A partial file cannot be resumed here, and must not be taken for a complete one. */
async function copyOrRemove(
	from: UriLocation,
	to: UriLocation,
	size: number | undefined,
	{signal, stats}: CopyContext,
): Promise<void> {
	let counted = 0;
	const progress = ({bytes}: {bytes: number}) => {
		stats.addSentBytes(bytes - counted);
		counted = bytes;
	};
	try {
		const options = {overwrite: true, verify: true, signal, progress};
		await wrapFileErrors(to.path, () => copyWholeFile({from, to}, options, size));
	} catch (error) {
		await to.files.remove(to.path, rootOption(to)).catch(() => {});
		throw error;
	}
}

/**
 * Copies a tree file by file: contents only, without links and special files. Files in `copied`, from before a lost
 * connection, are passed over.
 */
export async function copyTreeFallback(
	from: UriLocation,
	to: UriLocation,
	context: CopyContext,
	copied: Set<string> = new Set(),
): Promise<void> {
	const {signal, stats, sync} = context;
	const directories: UriLocation[] = [];
	const steps = {
		createDirectory: async (target: UriLocation) => {
			await atLocation(target, () => to.files.createDirectory(target.path, rootOption(target)));
			directories.push(target);
		},
		reportErrors: (errors: TransferOutcome['errors']) => stats.addErrors(from.files, errors),
		copyFile: async (source: UriLocation, target: UriLocation) => {
			if (copied.has(source.path.href)) return;
			await copyFileFallback(source, target, context);
			copied.add(source.path.href);
			stats.commit();
		},
		runStep: (source: UriLocation, step: () => Promise<void>) => continueOnFailure(context, source, step),
	};
	await copyPlainTree(from, to, steps, signal);
	if (!sync) return;
	for (const directory of directories) {
		const errors = await to.files.setAttributes(directory.path, [{name: ''}], {sync, ...rootOption(directory)});
		stats.addErrors(to.files, errors);
	}
}
