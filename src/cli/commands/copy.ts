import {LongarmError} from '../../shared/errors.js';
import {type Address, givenAddress, localAddress, parseAddress} from '../address.js';
import {type CopyOptions, copy} from '../copy/copy.js';

/** From anywhere to anywhere. */
export function cp(paths: readonly string[], options: CopyOptions): Promise<number> {
	if (paths.length < 2) throw wrong('a copy needs a source and a target');
	const addresses = paths.map(parseAddress);
	return copy(addresses.slice(0, -1), addresses.at(-1)!, options);
}

/** From here to the environment; into the directory it works in, if no target is given. */
export function put(paths: readonly string[], options: CopyOptions): Promise<number> {
	return between(paths, options, localAddress, givenAddress, givenAddress(''));
}

/** From the environment to here; into the directory we are in, if no target is given. */
export function get(paths: readonly string[], options: CopyOptions): Promise<number> {
	return between(paths, options, givenAddress, localAddress, localAddress('.'));
}

type Addressing = (path: string) => Address;

function between(
	paths: readonly string[],
	options: CopyOptions,
	source: Addressing,
	target: Addressing,
	fallback: Address,
): Promise<number> {
	if (options.environment === undefined) throw wrong('which environment is meant has to be said with -e');
	if (paths.length === 1) return copy([source(paths[0]!)], fallback, options);
	return copy(paths.slice(0, -1).map(source), target(paths.at(-1)!), options);
}

function wrong(message: string): LongarmError {
	return new LongarmError('USAGE_WRONG', {message});
}
