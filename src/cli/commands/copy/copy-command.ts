import {LongarmError} from '../../../shared/errors.js';
import {type Address, givenAddress, localAddress, parseAddress} from '../../common/address.js';
import {printable} from '../../common/printable.js';
import {type CopyOptions, copy} from './copy.js';

/** From anywhere to anywhere. */
export function cp(paths: readonly string[], options: CopyOptions): Promise<number> {
	if (paths.length < 2) throw wrong('a copy needs a source and a target');
	const addresses = paths.map(parseAddress);
	return copy(addresses.slice(0, -1), addresses.at(-1)!, options);
}

/** From here to an environment; into the directory it works in, if no target is given. */
export function put(paths: readonly string[], options: CopyOptions): Promise<number> {
	const there = addressing(options);
	const target = paths.length === 1 ? there('') : there(paths.at(-1)!);
	return copy((paths.length === 1 ? paths : paths.slice(0, -1)).map(localAddress), target, options);
}

/** From an environment to here; into the directory we are in, if no target is given. */
export function get(paths: readonly string[], options: CopyOptions): Promise<number> {
	const there = addressing(options);
	const target = localAddress(paths.length === 1 ? '.' : paths.at(-1)!);
	return copy((paths.length === 1 ? paths : paths.slice(0, -1)).map(there), target, options);
}

/** With `-e` every path over there is one of that environment, colons or not; without, each says where it is. */
function addressing({environment}: CopyOptions): (path: string) => Address {
	return path => {
		if (environment !== undefined) return givenAddress(path);
		const address = path === '' ? givenAddress(path) : parseAddress(path);
		if (address.place.kind === 'named') return address;
		throw wrong(
			`${path === '' ? 'the environment' : `where \`${printable(path)}\` is`} has to be said, with -e ENV or as ENV:PATH`,
		);
	};
}

function wrong(message: string): LongarmError {
	return new LongarmError('USAGE_WRONG', {message});
}
