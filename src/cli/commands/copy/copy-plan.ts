import {FileError} from '../../../client/files/file-error.js';
import type {Metadata} from '../../../client/files/files.js';
import {uriChild, uriName, uriParent} from '../../../client/paths.js';
import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {LongarmError} from '../../../shared/errors.js';
import {describeLocation, type Location, type ParsedLocation} from '../../common/locations.js';
import {attempt, type CopyContext} from './copy-context.js';
import {assertNotOverlapping} from './overlap.js';

/** One thing to copy, and the place it gets. */
export interface CopyTask {
	readonly kind: 'file' | 'directory';
	readonly from: Location;
	readonly to: Location;
}

export interface PlanOptions {
	/** Whether directories are copied. */
	readonly recursive: boolean;
}

/** What has to be done to copy the sources to the target. A source that cannot be copied is counted and told. */
export async function planCopies(
	sources: readonly ParsedLocation[],
	target: ParsedLocation,
	{recursive}: PlanOptions,
	context: CopyContext,
): Promise<CopyTask[]> {
	const isDirectory = (await lookAt(target))?.isDirectory === true;
	if (!isDirectory) await requireUsable(target, sources.length);
	const tasks: CopyTask[] = [];
	const taken = new Set<string>();
	for (const from of sources) {
		context.signal.throwIfAborted();
		await attempt(context, from, async () => {
			const {isDirectory: isTree, isFile} = await from.files.metadata(from.path);
			if (isTree && !recursive) throw refused(from, 'is a directory; -r copies directories');
			if (!isTree && !isFile) throw refused(from, 'is neither a file nor a directory');
			const to = isDirectory && !(isTree && from.isMeantAsContents) ? inside(target, from) : await behindLink(target);
			if (taken.has(to.path.href)) throw refused(from, `another source has the name ${uriName(to.path)} already`);
			await assertNotOverlapping(from, to, isTree);
			taken.add(to.path.href);
			tasks.push({kind: isTree ? 'directory' : 'file', from, to});
		});
	}
	return tasks;
}

/** Something new is made in a directory that is there; several things need one to be put into. */
async function requireUsable(target: ParsedLocation, sources: number): Promise<void> {
	const shown = describeLocation(target);
	if (sources > 1) throw wrong(`${shown} is not a directory, and there are several sources`);
	if (target.isMeantAsDirectory && (await lookAt(target))) throw wrong(`${shown} is not a directory`);
	const parent = {...target, path: uriParent(target.path)};
	if ((await lookAt(parent))?.isDirectory !== true) throw wrong(`there is no directory ${describeLocation(parent)}`);
}

function inside(target: Location, from: Location): Location {
	const name = uriName(from.path);
	return name === '' ? target : {...target, path: uriChild(target.path, name)};
}

/** A file is written where a link leads, not in place of it. */
async function behindLink(target: Location): Promise<Location> {
	const {files, path} = target;
	const there = await lookAt(target);
	if (!there?.isSymlink || there.isDirectory) return target;
	return {...target, path: PathUri.parse(await files.canonicalize(path))};
}

/** Undefined when there is nothing. */
async function lookAt({files, path}: Location): Promise<Metadata | undefined> {
	try {
		return await files.metadata(path);
	} catch (error) {
		if (error instanceof FileError && error.code === 'not-found') return undefined;
		throw error;
	}
}

function refused(place: Location, message: string): FileError {
	return new FileError('refused', message, {path: describeLocation(place)});
}

function wrong(message: string): LongarmError {
	return new LongarmError('USAGE_WRONG', {message});
}
