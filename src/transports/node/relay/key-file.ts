import {randomBytes} from 'node:crypto';
import {closeSync, fstatSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {dirname} from 'node:path';
import {errorMessage, LongarmError} from '../../../shared/errors.js';
import {nodeNoiseCrypto} from '../../../shared/node/node-noise-crypto.js';
import {findOwnSecrecyFault} from '../../../shared/node/private-file.js';
import {createNoiseKeys, type NoiseKeys} from '../../../shared/noise/hybrid-ik.js';
import {DH_SEED_BYTES, KEM_SEED_BYTES} from '../../../shared/noise/noise-crypto.js';
import {randomHex} from '../../../shared/random-id.js';

const VERSION = 1;
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

/** The key of this executor or client, made at the first use. A file that others can open, or that is theirs, is refused. */
export function loadNoiseKeys(path: string): NoiseKeys {
	try {
		return readKeys(path) ?? createKeyFile(path);
	} catch (error) {
		if (error instanceof LongarmError) throw error;
		throw invalidKeyFile(path, errorMessage(error));
	}
}

/** Undefined if there is no such file. */
function readKeys(path: string): NoiseKeys | undefined {
	let fd: number;
	try {
		fd = openSync(path, 'r');
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw error;
	}
	try {
		const fault = findOwnSecrecyFault(fstatSync(fd), path);
		if (fault !== undefined) throw invalidKeyFile(path, fault);
		const {version, x25519, mlkem768} = JSON.parse(readFileSync(fd, 'utf8')) as Record<string, unknown>;
		const [dh, kem] = [x25519, mlkem768].map(text => Buffer.from(String(text), 'base64'));
		const isUsable = version === VERSION && dh!.length === DH_SEED_BYTES && kem!.length === KEM_SEED_BYTES;
		if (!isUsable) throw invalidKeyFile(path, 'it holds no key of this version');
		return createNoiseKeys(nodeNoiseCrypto, {dh: dh!, kem: kem!});
	} finally {
		closeSync(fd);
	}
}

/** Whole or not at all; of two programs that make it at once, one file counts for both. */
function createKeyFile(path: string): NoiseKeys {
	const seeds = {x25519: randomBytes(DH_SEED_BYTES), mlkem768: randomBytes(KEM_SEED_BYTES)};
	const text = {version: VERSION, x25519: seeds.x25519.toString('base64'), mlkem768: seeds.mlkem768.toString('base64')};
	mkdirSync(dirname(path), {recursive: true, mode: DIRECTORY_MODE});
	const partial = `${path}.${randomHex(8)}`;
	writeFileSync(partial, `${JSON.stringify(text)}\n`, {mode: FILE_MODE, flag: 'wx'});
	try {
		linkSync(partial, path);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
	} finally {
		rmSync(partial, {force: true});
	}
	return readKeys(path)!;
}

function invalidKeyFile(path: string, problem: string): LongarmError {
	return new LongarmError('AUTH_INVALID', {message: `the key file ${path} cannot be used: ${problem}`});
}
