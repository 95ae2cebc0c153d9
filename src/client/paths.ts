import {PathUri} from '../protocol/path-uri.js';

/** An absolute path of the executor, written its own way or as a `file:` URI. */
export type Path = string | URL | PathUri;

/** Tells paths of Windows from others by their looks: the executor may be a different kind of machine. */
export function toPathUri(path: Path): PathUri {
	if (path instanceof PathUri) return path;
	const text = String(path);
	return PathUri.parse(text, /^(?:[A-Za-z]:[\\/]|\\\\)/.test(text) ? 'windows' : 'posix');
}
