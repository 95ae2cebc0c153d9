import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {type Path, toPathUri} from '../../paths.js';
import {FileError} from '../file-error.js';

/** Maps paths below one directory to paths below another, also of a machine with another path convention. */
export class Relocation {
	readonly #from: string;
	readonly #to: string;

	constructor(from: Path, to: Path) {
		this.#from = toPrefix(from);
		this.#to = toPrefix(to);
	}

	/** Refuses paths that lead out of the target: the names come from another machine. */
	of(href: string): PathUri {
		const relative = href.startsWith(this.#from) ? href.slice(this.#from.length) : '';
		const names = relative.split('/');
		if (names.some(name => !isPlainName(name))) {
			throw new FileError('invalid-data', 'exec-server names a path that is not below the directory', {path: href});
		}
		return PathUri.parse(`${this.#to}${relative}`);
	}
}

/** Whether a path is the directory or below it, by name; links are not resolved. */
export function isUriWithin(path: Path, directory: Path): boolean {
	return toPrefix(path).startsWith(toPrefix(directory));
}

/** The normal form of a path, with a slash at the end. */
function toPrefix(path: Path): string {
	const href = toNormalHref(path);
	return href.endsWith('/') ? href : `${href}/`;
}

/** The only spelling of a path of its bytes. */
export function toNormalHref(path: Path): string {
	const uri = toPathUri(path);
	return uri.convention === 'posix' ? PathUri.fromBinary(uri.toBinary('posix')).href : uri.href;
}

/** Rejects encoded separators and encoded dots, too. */
function isPlainName(name: string): boolean {
	return name !== '' && !/^(?:\.|%2e){1,2}$/i.test(name) && !/%2f|%5c|%00|\\/i.test(name);
}
