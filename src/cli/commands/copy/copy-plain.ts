import {Relocation} from '../../../client/files/copy/relocation.js';
import {transfer} from '../../../client/files/copy/transfer.js';
import {FileError} from '../../../client/files/file-error.js';
import {uriChild, uriName, uriParent} from '../../../client/paths.js';
import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {partialFileName} from '../../../shared/partial-file-name.js';
import {describeLocation, type Location} from '../../common/locations.js';
import {printableName, printableReason} from '../../common/printable.js';
import {attempt, type CopyContext} from './copy-context.js';

/** A file to or from a server that knows nothing of resuming: contents only, compared by reading them back. */
export async function copyPlainFile(from: Location, to: Location, context: CopyContext): Promise<void> {
	const {stats, noClobber, signal} = context;
	stats.label = printableName(uriName(to.path));
	const {size, modifiedAtMs} = await from.files.metadata(from.path);
	const keepsTimes = await to.files.supports('resume');
	const target = await lookAt(to);
	if (target?.isDirectory) throw new FileError('refused', 'a directory is in the way', {path: describeLocation(to)});
	const isSame = keepsTimes && target?.size === size && target?.modifiedAtMs === modifiedAtMs;
	if (target && (noClobber || isSame)) {
		stats.skip(to.path.href, size ?? 0);
		return;
	}
	const canRename = await to.files.supports('rename');
	const path = canRename ? uriChild(uriParent(to.path), partialFileName(uriName(to.path))) : to.path;
	let reached = 0;
	const progress = ({bytes}: {bytes: number}) => {
		stats.move(bytes - reached);
		reached = bytes;
	};
	try {
		await transfer({from, to: {files: to.files, path}}, {overwrite: true, verify: true, signal, progress});
	} catch (error) {
		// It cannot be gone on with, and half a file must not be taken for a whole one.
		await to.files.remove(path).catch(() => {});
		throw error;
	}
	if (keepsTimes) await to.files.setAttributes(uriParent(path), [{name: uriName(path), modifiedAtMs}]);
	if (canRename) await to.files.rename(path, to.path, {overwrite: !noClobber});
	stats.copied(1);
}

/** A tree, file by file: what a walk finds. Links and special files are left out. */
export async function copyPlainTree(from: Location, to: Location, context: CopyContext): Promise<void> {
	// A walk does not enter a link, not even at its beginning.
	const root = await from.files.canonicalize(from.path);
	const {entries, errors, truncated} = await from.files.walk(root);
	if (truncated) {
		throw new FileError('refused', 'the tree is too large to be copied file by file', {path: describeLocation(from)});
	}
	const relocation = new Relocation(root, to.path);
	await to.files.createDirectory(to.path);
	for (const {path, message} of errors) {
		context.stats.fail(describeLocation({...from, path: PathUri.parse(path)}), printableReason(message));
	}
	for (const {path, kind} of entries) {
		context.signal.throwIfAborted();
		const source = {...from, path: PathUri.parse(path)};
		const target = {...to, path: relocation.of(path)};
		await attempt(context, source, () =>
			kind === 'directory' ? to.files.createDirectory(target.path) : copyPlainFile(source, target, context),
		);
	}
}

async function lookAt({files, path}: Location) {
	try {
		return await files.metadata(path);
	} catch (error) {
		if (error instanceof FileError && error.code === 'not-found') return undefined;
		throw error;
	}
}
