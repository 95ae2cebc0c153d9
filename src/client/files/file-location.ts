import type {PathUri} from '../../protocol/path-uri/path-uri.js';
import type {Path} from '../paths.js';
import {describePath, toPathUri, uriChild, uriName, uriParent} from '../paths.js';
import {FileError, isNotFound} from './file-error.js';
import type {Files, Metadata} from './files.js';

/** A path on any machine. */
export interface FileLocation {
	readonly files: Files;
	readonly path: Path;
}

/** A path of a machine that has files, an `Environment` for instance. */
export interface EnvironmentLocation {
	readonly environment: {readonly files: Files};
	readonly path: Path;
}

/** The location with the files of its machine; `name` is for the error about a location that has none. */
export function toFileLocation(location: FileLocation | EnvironmentLocation, name: string): FileLocation {
	const {path} = location;
	const files = 'environment' in location ? location.environment?.files : location.files;
	if (files && path !== undefined) return {files, path};
	throw new TypeError(`\`${name}\` must be {files, path} or {environment, path}, such as environment.at('/srv')`);
}

/** A location that may be below a root. */
export interface RootedLocation extends FileLocation {
	/** Directory that is the path or above it: no link below it is followed. */
	readonly root?: PathUri | undefined;
}

/** A location whose path is parsed: parents, children and siblings can be named. */
export interface UriLocation extends RootedLocation {
	readonly path: PathUri;
}

export function toUriLocation({files, path}: FileLocation): UriLocation {
	return {files, path: toPathUri(path)};
}

/** The entry of a directory; the empty name is the directory itself. */
export function childLocation(directory: UriLocation, name: string): UriLocation {
	return name === '' ? directory : {...directory, path: uriChild(directory.path, name)};
}

/** The location of another name in the same directory. */
export function siblingLocation(location: UriLocation, rename: (name: string) => string): UriLocation {
	return {...location, path: uriChild(uriParent(location.path), rename(uriName(location.path)))};
}

/** Metadata of the path, or undefined if it does not exist; `isAbsence` tells which failures mean that. */
export async function metadataIfExists(
	{files, path}: FileLocation,
	isAbsence: (error: unknown) => boolean = isNotFound,
): Promise<Metadata | undefined> {
	try {
		return await files.metadata(path);
	} catch (error) {
		if (isAbsence(error)) return undefined;
		throw error;
	}
}

/** Refuses a target that exists, before anything is sent. */
export async function requireFreeTarget(target: FileLocation): Promise<void> {
	if (!(await metadataIfExists(target))) return;
	throw new FileError('refused', 'the target exists', {
		path: describePath(target.path),
		hint: 'Say overwrite: true to replace it.',
	});
}
