import {findScheme, isServerUrl, splitUrlAndPath} from '../../transports/node/registry.js';
import {usageError} from '../exit-codes.js';

/** Location of a file, as written on the command line. */
export interface Address {
	readonly place:
		| {readonly kind: 'local'}
		/** A name or a URL. */
		| {readonly kind: 'named'; readonly environment: string}
		/** The one that was given with `-e`, else the default one, if that is another machine. */
		| {readonly kind: 'given'}
		/** The same, or this machine. */
		| {readonly kind: 'default'};
	/** As written; empty for the directory one works in. */
	readonly path: string;
}

const THIS_MACHINE: Address['place'] = {kind: 'local'};

/**
 * `NAME:path`, `ws://host:port:/path`, `unix:/socket:/path`, `:path` for the environment given with `-e` or the default one; everything
 * without a colon, or with a slash before the first one, is a path of this machine.
 */
export function parseAddress(text: string): Address {
	if (isServerUrl(text)) return urlAddress(text);
	if (findScheme(text)) {
		throw usageError(`\`${text}\`: a command cannot be part of an address; give it with -e and write :PATH`);
	}
	const colon = text.indexOf(':');
	const slash = text.indexOf('/');
	if (colon === -1 || (slash !== -1 && slash < colon)) return localAddress(text);
	const [name, path] = [text.slice(0, colon), text.slice(colon + 1)];
	if (name === '') return {place: {kind: 'given'}, path};
	if (name === 'local') return {place: THIS_MACHINE, path};
	return {place: {kind: 'named', environment: name}, path};
}

/** A path of this machine, colons or not. */
export function localAddress(path: string): Address {
	if (path === '') throw usageError('an empty path names no file');
	return {place: THIS_MACHINE, path};
}

/** The same for commands that only read: a path without an environment is one of the default environment. */
export function parseReadAddress(text: string): Address {
	const address = parseAddress(text);
	return isBarePath(text, address) ? {place: {kind: 'default'}, path: text} : address;
}

/** Whether an address is a path without anything that says where. */
export function isBarePath(text: string, {place}: Address): boolean {
	return place.kind === 'local' && !text.startsWith('local:');
}

/** A path of the environment given with `-e`, colons or not. */
export function givenAddress(path: string): Address {
	return {place: {kind: 'given'}, path};
}

function urlAddress(text: string): Address {
	const parts = splitUrlAndPath(text);
	if (!parts) {
		throw usageError(`\`${text}\` has no path: write a URL, a colon and a path, such as ws://127.0.0.1:4500:/srv/site`);
	}
	return {place: {kind: 'named', environment: parts.url}, path: parts.path};
}
