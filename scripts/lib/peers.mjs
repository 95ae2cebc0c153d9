import {readdirSync, readFileSync} from 'node:fs';

const FOLDER = new URL('../../test/interop/peers/', import.meta.url);

/** Reads the recorded versions of codex, oldest first; see `record-peer.mjs`. */
export function readPeers(folder = FOLDER) {
	return readdirSync(folder)
		.filter(name => name.endsWith('.json'))
		.map(name => JSON.parse(readFileSync(new URL(name, folder), 'utf8')))
		.sort((one, other) => compareVersions(one.version, other.version));
}

/** Compares versions of the form 1.2.3 by their numbers. */
export function compareVersions(one, other) {
	return one.localeCompare(other, 'en', {numeric: true});
}
