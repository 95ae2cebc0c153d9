import {PathUri, PathUriError} from '../../protocol/path-uri.js';
import {type Path, toPathUri} from '../paths.js';

/** The path as programs on the executor write it. Throws a `PathUriError` if its bytes are not text. */
export function nativePathOf(path: Path): string {
	const uri = toPathUri(path);
	if (uri.convention === 'windows') return uri.toWindowsPath();
	const native = uri.toNativeString('posix');
	if (native === undefined) throw new PathUriError(`'${uri.href}' is not valid Unicode`);
	return native;
}

/** For messages, whatever was given. */
export function describePath(path: Path): string {
	return path instanceof PathUri ? path.href : String(path);
}
