import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describePath, uriName, uriParent} from '../../paths.js';
import {FileError} from '../file-error.js';
import {childLocation, type FileLocation, metadataIfExists, toUriLocation, type UriLocation} from '../file-location.js';
import {type CopyContext, continueOnFailure} from './copy-context.js';
import {assertNotOverlapping} from './overlap.js';
import type {TransferRoute} from './transfer.js';
import {isUnfinishedCopy} from './unfinished-tree.js';

const TARGET_MESSAGES: Readonly<Record<CopyTargetError['reason'], string>> = {
	'several-sources': 'the target is not a directory, and there are several sources',
	'not-a-directory': 'the target is not a directory',
	'no-parent': 'the directory of the target does not exist',
};

const UNNAMED_MESSAGE =
	'its name would be one that the server chooses; write /. behind it for what is in it, or a target that does not exist';

/** One file or directory to copy, and the name it gets. */
export interface CopyTask {
	readonly kind: 'file' | 'directory';
	readonly from: UriLocation;
	/** Unless it has a root, links lead to the directory itself, or to that of the file. */
	readonly to: UriLocation;
	/** Identity of the source, for the marker of a directory that is made under a new name. */
	readonly marker?: string | undefined;
}

export interface CopySource extends UriLocation {
	/** The entries of the directory are copied into the target, not the directory itself. */
	readonly contentsOnly: boolean;
	/** Its name comes from another machine, not from the user: below a directory it could be that of anything. */
	readonly isUnnamed?: boolean | undefined;
	/** The same for the same source in a later run, without line breaks; an interrupted copy of it is resumed by its name. */
	readonly identity?: string | undefined;
}

export interface CopyTarget extends UriLocation {
	/** The target has to be a directory, if it exists. */
	readonly mustBeDirectory: boolean;
}

export interface PlanOptions {
	/** Message of the failure of a source that is a directory; without it directories are copied. */
	readonly directoryRefusal?: string | undefined;
}

/** Nothing can be copied to the target. */
export class CopyTargetError extends FileError {
	readonly location: FileLocation;
	readonly reason: 'several-sources' | 'not-a-directory' | 'no-parent';

	constructor(reason: CopyTargetError['reason'], location: FileLocation) {
		super('refused', TARGET_MESSAGES[reason], {path: describePath(location.path)});
		this.reason = reason;
		this.location = location;
	}
}

/** The task that gives a source exactly the name of the target. */
export async function planCopy(route: TransferRoute): Promise<CopyTask> {
	const [from, target] = [toUriLocation(route.from), toUriLocation(route.to)];
	const kind = await requireCopyable(from, {});
	await requireParent(target);
	const to = await followFileLink(target);
	await assertNotOverlapping(from, to, kind === 'directory');
	return {kind, from, to};
}

/**
 * Tasks for several sources: into a target that is a directory they go under their own names, otherwise the only source
 * gets the name of the target. A directory that an interrupted copy of the only source made under this name is the copy,
 * not a directory to copy into. A source that cannot be copied is recorded as a failure.
 */
export async function planCopies(
	sources: readonly CopySource[],
	target: CopyTarget,
	options: PlanOptions,
	context: CopyContext,
): Promise<CopyTask[]> {
	const isDirectory = (await metadataIfExists(target))?.isDirectory === true;
	if (!isDirectory) await requireUsable(target, sources);
	const tasks: CopyTask[] = [];
	const taken = new Set<string>();
	for (const from of sources) {
		context.signal.throwIfAborted();
		await continueOnFailure(context, from, async () => {
			const kind = await requireCopyable(from, options);
			const isWholeTree = kind === 'directory' && !from.contentsOnly;
			const marker = isWholeTree && sources.length === 1 ? from.identity : undefined;
			const isResumed = isDirectory && marker !== undefined && (await isUnfinishedCopy(target, marker));
			const isInto = isDirectory && !isResumed && (isWholeTree || kind === 'file');
			if (isInto && from.isUnnamed) throw refusal(from, UNNAMED_MESSAGE);
			const to = isInto
				? childLocation({...target, root: target.path}, uriName(from.path))
				: await followFileLink(target);
			if (taken.has(to.path.href)) throw refusal(from, `another source has the name ${uriName(to.path)} already`);
			await assertNotOverlapping(from, to, kind === 'directory');
			taken.add(to.path.href);
			tasks.push({kind, from, to, ...(!isInto && {marker})});
		});
	}
	return tasks;
}

/** Checks a target that is not a directory. One that must be a directory is created for a source that is one. */
async function requireUsable(target: CopyTarget, sources: readonly CopySource[]): Promise<void> {
	if (sources.length > 1) throw new CopyTargetError('several-sources', target);
	const isInTheWay = async (): Promise<boolean> =>
		(await metadataIfExists(target)) !== undefined || (await metadataIfExists(sources[0]!))?.isFile === true;
	if (target.mustBeDirectory && (await isInTheWay())) throw new CopyTargetError('not-a-directory', target);
	await requireParent(target);
}

async function requireParent(target: UriLocation): Promise<void> {
	const parent = {...target, path: uriParent(target.path)};
	if ((await metadataIfExists(parent))?.isDirectory !== true) throw new CopyTargetError('no-parent', parent);
}

async function requireCopyable(from: UriLocation, {directoryRefusal}: PlanOptions): Promise<CopyTask['kind']> {
	const {isDirectory, isFile} = await from.files.metadata(from.path);
	if (isDirectory && directoryRefusal !== undefined) throw refusal(from, directoryRefusal);
	if (!isDirectory && !isFile) throw refusal(from, 'is neither a file nor a directory');
	return isDirectory ? 'directory' : 'file';
}

/** A file is written to where a link leads; the link stays. */
async function followFileLink(target: UriLocation): Promise<UriLocation> {
	const existing = await metadataIfExists(target);
	if (!existing?.isSymlink || existing.isDirectory) return target;
	return {...target, path: PathUri.parse(await target.files.canonicalize(target.path))};
}

function refusal({path}: FileLocation, message: string): FileError {
	return new FileError('refused', message, {path: describePath(path)});
}
