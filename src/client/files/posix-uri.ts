import {PathUri} from '../../protocol/path-uri.js';

/** The last name of a path, one character for each byte. */
export function nameOf(uri: PathUri): string {
	const path = uri.toBinary('posix');
	return path.slice(path.lastIndexOf('/') + 1);
}

export function parentOf(uri: PathUri): PathUri {
	const path = uri.toBinary('posix');
	return PathUri.fromBinary(path.slice(0, Math.max(1, path.lastIndexOf('/'))));
}

/** Names an entry of a directory; the name has one character for each byte. */
export function childOf(uri: PathUri, name: string): PathUri {
	return PathUri.fromBinary(uri.toBinary('posix')).child(name);
}
