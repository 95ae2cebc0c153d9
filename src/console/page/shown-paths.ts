import {toPathUri, uriChild, uriName, uriParent} from '../../client/paths.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import {decodeUtf8} from '../../protocol/path-uri/path-uri-encoding.js';
import {toShown} from './shown-text.js';

/** A step on the way from the root to a file. */
export interface Crumb {
	readonly shown: string;
	readonly href: string;
}

/** Name of an entry, one character per byte, for people. */
export function toShownName(binary: string): string {
	const text = decodeUtf8(binary);
	return text === undefined ? binary.replaceAll(/[^\x20-\x7e]/g, '\ufffd') : toShown(text);
}

/** Addresses are `file:` URIs: they hold names that are no text, too. */
export function childOf(directory: string, name: string): string {
	return uriChild(toPathUri(directory), name).href;
}

export function parentOf(path: string): string {
	return uriParent(toPathUri(path)).href;
}

export function nameOf(path: string): string {
	return toShownName(uriName(toPathUri(path)));
}

export function crumbsOf(path: string): Crumb[] {
	const names = toPathUri(path).toBinary('posix').split('/').filter(Boolean);
	const steps = names.map((name, index) => ({
		shown: toShownName(name),
		href: PathUri.fromBinary(`/${names.slice(0, index + 1).join('/')}`).href,
	}));
	return [{shown: '/', href: PathUri.fromBinary('/').href}, ...steps];
}
