import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describePath, type Path, uriParent} from '../../paths.js';
import {FileError, isNotFound} from '../file-error.js';
import {metadataIfExists, type RootedLocation, type UriLocation} from '../file-location.js';
import type {RootOptions} from '../files.js';
import {isUriWithin, Relocation, toNormalHref} from './relocation.js';

/** Message of servers on systems that cannot descend without following links. */
const NO_FOLLOW_UNSUPPORTED = /not supported on this platform/;

/** The option with which an operation follows no link below the root of its location; the root itself may be one. */
export function rootOption({path, root}: RootedLocation): RootOptions {
	return root === undefined || isSamePath(path, root) ? {} : {root};
}

/**
 * Keeps the root of a location where the executor honours it. Elsewhere the path is checked for links below the root, and
 * refused if there is one; a link that is put there between this check and the operation is followed by such an executor.
 */
export async function guardLinks(location: UriLocation): Promise<UriLocation> {
	const {files, path, root} = location;
	if (root === undefined || (await files.supports('root'))) return location;
	const unrooted = {files, path};
	if (!isSamePath(path, root)) await refuseLinks(unrooted, root);
	return unrooted;
}

async function refuseLinks({files, path}: UriLocation, root: PathUri): Promise<void> {
	try {
		const canonical = PathUri.parse(await files.canonicalize(root));
		await files.metadata(new Relocation(root, canonical).of(toNormalHref(path)), {followSymlinks: false});
	} catch (error) {
		if (isNotFound(error)) return;
		if (!isUnsupported(error)) throw error;
		await refuseVisibleLinks({files, path}, root);
	}
}

/** Dangling links are not seen: plain metadata tells of them as of missing files. */
async function refuseVisibleLinks({files, path}: UriLocation, root: PathUri): Promise<void> {
	for (let place = path; !isSamePath(place, root); place = uriParent(place)) {
		if (!(await metadataIfExists({files, path: place}))?.isSymlink) continue;
		throw new FileError('refused', 'a link is in the way', {path: describePath(place)});
	}
}

function isUnsupported(error: unknown): boolean {
	return error instanceof FileError && (error.code === 'unsupported' || NO_FOLLOW_UNSUPPORTED.test(error.detail));
}

function isSamePath(one: Path, other: Path): boolean {
	return isUriWithin(one, other) && isUriWithin(other, one);
}

/** The location with itself as its root: nothing below it is reached through a link. */
export async function rootedAt(location: UriLocation): Promise<UriLocation> {
	return (await location.files.supports('root')) ? {...location, root: location.path} : location;
}
