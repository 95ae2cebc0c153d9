import {createHash} from 'node:crypto';
import {appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {LongarmError} from '../../../shared/errors.js';
import {findOwnIntegrityFault} from '../../../shared/node/private-file.js';
import {stateHome} from '../../../shared/node/state-home.js';
import type {NoisePublicKeys} from '../../../shared/noise/hybrid-ik.js';
import {ANY_KEY, requireExecutorKey} from '../registry-scheme.js';

const FILE = 'known-executors';
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

/** `sha256:HEX` of an executor's key, as `longarm hub` and `serve --remote` print it. */
export function fingerprintOfKeys({dh, kem}: NoisePublicKeys): string {
	return `sha256:${createHash('sha256').update(dh).update(kem).digest('hex')}`;
}

/**
 * Refuses an executor whose key is not the one that is pinned, or was seen at the first connection. The hub names the key, so this
 * is what keeps a hub from putting another machine in the place of the one that is known.
 */
export function requireKnownExecutor(url: string, keys: NoisePublicKeys, pin: string | undefined): void {
	if (pin === ANY_KEY) return;
	const shown = fingerprintOfKeys(keys);
	const known = pin === undefined ? findKnown(url) : requireExecutorKey(pin);
	if (known === shown) return;
	if (known === undefined) return remember(url, shown);
	throw new ExecutorKeyChangedError(url, shown, known);
}

/** Another machine may be in the place of the one that is known; asking again would not help. */
export class ExecutorKeyChangedError extends LongarmError {
	readonly isFinal = true;

	constructor(url: string, shown: string, known: string) {
		const message = `the executor at ${url} has the key ${shown}, and the one that is known is ${known}`;
		super('EXECUTOR_KEY_CHANGED', {message, context: {url, shown, known}});
	}
}

/** The last line counts: an owner may add one by hand. */
function findKnown(url: string): string | undefined {
	let text: string;
	try {
		text = readTrusted(placeOfFile());
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw error;
	}
	const lines = text.split('\n').map(line => line.split(' '));
	return lines.findLast(([name]) => name === url)?.[1];
}

/** Others who can write to the file could put their own machine in the place of a known one. */
function readTrusted(path: string): string {
	const fd = openSync(path, 'r');
	try {
		const fault = findOwnIntegrityFault(fstatSync(fd), path);
		if (fault === undefined) return readFileSync(fd, 'utf8');
		throw new LongarmError('AUTH_INVALID', {message: `the known executors in ${path} cannot be trusted: ${fault}`});
	} finally {
		closeSync(fd);
	}
}

function remember(url: string, fingerprint: string): void {
	const path = placeOfFile();
	mkdirSync(dirname(path), {recursive: true, mode: DIRECTORY_MODE});
	appendFileSync(path, `${url} ${fingerprint}\n`, {mode: FILE_MODE});
}

function placeOfFile(): string {
	const home = stateHome(process.env);
	if (home === undefined) throw new LongarmError('STATE_UNUSABLE', {message: 'this user has no home directory'});
	return join(home, FILE);
}
