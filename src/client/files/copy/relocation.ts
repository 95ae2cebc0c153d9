import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {type Path, toPathUri} from '../../paths.js';
import {FileError} from '../file-error.js';

/** Says for what is below one directory where it belongs below another; machines may differ in all but the names. */
export class Relocation {
	readonly #from: string;
	readonly #to: string;

	constructor(from: Path, to: Path) {
		this.#from = prefixOf(from);
		this.#to = prefixOf(to);
	}

	/** Refuses what would not stay below the target: the names come from another machine. */
	of(href: string): PathUri {
		const way = href.startsWith(this.#from) ? href.slice(this.#from.length) : '';
		const names = way.split('/');
		if (names.some(name => !isPlainName(name))) {
			throw new FileError('invalid-data', 'exec-server names a path that is not below the directory', {path: href});
		}
		return PathUri.parse(`${this.#to}${way}`);
	}
}

/** Whether a path is a directory or below it, as far as the names tell. */
export function isUriWithin(path: Path, directory: Path): boolean {
	return prefixOf(path).startsWith(prefixOf(directory));
}

/** In normal form, with a slash at the end. */
function prefixOf(path: Path): string {
	const uri = toPathUri(path);
	const href = uri.convention === 'posix' ? PathUri.fromBinary(uri.toBinary('posix')).href : uri.href;
	return href.endsWith('/') ? href : `${href}/`;
}

/** Encoded separators separate too, and encoded dots are dots. */
function isPlainName(name: string): boolean {
	return name !== '' && !/^(?:\.|%2e){1,2}$/i.test(name) && !/%2f|%5c|%00|\\/i.test(name);
}
