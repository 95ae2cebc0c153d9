import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describePath, uriChild, uriName, uriParent} from '../../paths.js';
import {FileError, isNotFound} from '../file-error.js';
import type {UriLocation} from '../file-location.js';
import type {Metadata} from '../files.js';
import {isUriWithin} from './relocation.js';

/** Refuses to copy a file or directory onto or into itself, also by way of links and of other connections. */
export async function assertNotOverlapping(from: UriLocation, to: UriLocation, isDirectory: boolean): Promise<void> {
	if (!(await isSameMachine(from, to))) return;
	const source = await from.files.canonicalize(from.path);
	const target = await canonicalizeTarget(to);
	if (isUriWithin(source, target) && isUriWithin(target, source)) {
		throw overlapError(to, 'source and target are the same');
	}
	if (isDirectory && isUriWithin(target, source)) throw overlapError(to, 'a directory cannot be copied into itself');
}

/** Whether the path of the source has the same creation time at both ends: no two machines have that in common. */
async function isSameMachine(from: UriLocation, to: UriLocation): Promise<boolean> {
	if (from.files === to.files) return true;
	try {
		const [near, far] = [await from.files.metadata(from.path), await to.files.metadata(from.path)];
		return near.createdAtMs !== 0 && isSameEntry(near, far);
	} catch (error) {
		if (error instanceof FileError && error.code !== 'disconnected') return false;
		throw error;
	}
}

function isSameEntry(near: Metadata, far: Metadata): boolean {
	return (
		near.createdAtMs === far.createdAtMs &&
		near.modifiedAtMs === far.modifiedAtMs &&
		near.isDirectory === far.isDirectory
	);
}

/** The target itself need not exist. */
async function canonicalizeTarget({files, path}: UriLocation): Promise<PathUri> {
	try {
		return PathUri.parse(await files.canonicalize(path));
	} catch (error) {
		if (!isNotFound(error)) throw error;
		return uriChild(PathUri.parse(await files.canonicalize(uriParent(path))), uriName(path));
	}
}

function overlapError({path}: UriLocation, message: string): FileError {
	return new FileError('refused', message, {path: describePath(path)});
}
