import {PathUri, PathUriError} from '../protocol/path-uri/path-uri.js';

/** An absolute path of the executor, written its own way or as a `file:` URI. */
export type Path = string | URL | PathUri;

/** Detects Windows paths by their form, not by this platform: the executor may be another kind of machine. */
export function toPathUri(path: Path): PathUri {
	if (path instanceof PathUri) return path;
	const text = String(path);
	return PathUri.parse(text, /^(?:[A-Za-z]:[\\/]|\\\\)/.test(text) ? 'windows' : 'posix');
}

/** The path as programs on the executor write it. Throws a `PathUriError` if its bytes are not text. */
export function nativePathOf(path: Path): string {
	const uri = toPathUri(path);
	if (uri.convention === 'windows') return uri.toWindowsPath();
	const native = uri.toNativeString('posix');
	if (native === undefined) throw new PathUriError(`'${uri.href}' is not valid Unicode`);
	return native;
}

/** The path as it was given, for error messages. */
export function describePath(path: Path): string {
	return path instanceof PathUri ? path.href : String(path);
}

/** The last name of a path, one character for each byte. */
export function uriName(uri: PathUri): string {
	const path = uri.toBinary('posix');
	return path.slice(path.lastIndexOf('/') + 1);
}

export function uriParent(uri: PathUri): PathUri {
	const path = uri.toBinary('posix');
	return PathUri.fromBinary(path.slice(0, Math.max(1, path.lastIndexOf('/'))));
}

/** The URI of a directory's entry; the name has one character for each byte. */
export function uriChild(uri: PathUri, name: string): PathUri {
	return PathUri.fromBinary(uri.toBinary('posix')).child(name);
}
