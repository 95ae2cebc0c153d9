import {isUriWithin} from '../../../client/files/copy/relocation.js';
import {FileError} from '../../../client/files/file-error.js';
import type {Metadata} from '../../../client/files/files.js';
import {uriChild, uriName, uriParent} from '../../../client/paths.js';
import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describeLocation, type Location} from '../../common/locations.js';

/** Refuses to copy something onto or into itself, whatever it is called and however its machine is reached. */
export async function assertNotOverlapping(from: Location, to: Location, isDirectory: boolean): Promise<void> {
	if (!(await isSameMachine(from, to))) return;
	const source = await from.files.canonicalize(from.path);
	const target = await canonicalTarget(to);
	if (isUriWithin(source, target) && isUriWithin(target, source)) throw refused(to, 'source and target are the same');
	if (isDirectory && isUriWithin(target, source)) throw refused(to, 'a directory cannot be copied into itself');
}

/** The same thing has been made in the same moment under the same name: no two machines have that in common. */
async function isSameMachine(from: Location, to: Location): Promise<boolean> {
	if (from.environment === to.environment) return true;
	try {
		const [one, other] = [await from.files.metadata(from.path), await to.files.metadata(from.path)];
		return one.createdAtMs !== 0 && isSame(one, other);
	} catch (error) {
		if (error instanceof FileError && error.code !== 'disconnected') return false;
		throw error;
	}
}

function isSame(one: Metadata, other: Metadata): boolean {
	return (
		one.createdAtMs === other.createdAtMs &&
		one.modifiedAtMs === other.modifiedAtMs &&
		one.isDirectory === other.isDirectory
	);
}

/** The target itself need not be there. */
async function canonicalTarget({files, path}: Location): Promise<PathUri> {
	try {
		return PathUri.parse(await files.canonicalize(path));
	} catch (error) {
		if (!(error instanceof FileError) || error.code !== 'not-found') throw error;
		return uriChild(PathUri.parse(await files.canonicalize(uriParent(path))), uriName(path));
	}
}

function refused(place: Location, message: string): FileError {
	return new FileError('refused', message, {path: describeLocation(place)});
}
