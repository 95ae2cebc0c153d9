import type {EnvironmentInfo} from '../../protocol/environment.js';
import {PathUri} from '../../protocol/path-uri.js';

/** Where a command runs: what was asked for, seen from the environment's own directory. Throws for what is no path. */
export function workingDirectory(info: EnvironmentInfo, workdir: string | undefined): PathUri {
	const base = PathUri.parse(info.cwd ?? info.userHomeDir ?? 'file:///');
	if (workdir === undefined || workdir === '') return base;
	if (base.convention === 'posix') return PathUri.fromNative(joined(displayPath(base), workdir, /^\//, '/'));
	return PathUri.fromNative(joined(displayPath(base), workdir, /^(?:[A-Za-z]:[\\/]|[\\/]{2})/, '\\'), 'windows');
}

/** A path as people of that machine write it; the URI where it has no such form. */
export function displayPath(uri: PathUri): string {
	if (uri.convention === 'windows') return uri.toWindowsPath();
	return uri.toNativeString('posix') ?? uri.href;
}

function joined(base: string, path: string, absolute: RegExp, separator: string): string {
	return absolute.test(path) ? path : `${base}${separator}${path}`;
}
