import {randomBytes} from 'node:crypto';
import {
	closeSync,
	fstatSync,
	linkSync,
	mkdirSync,
	openSync,
	readFileSync,
	renameSync,
	unlinkSync,
	writeFileSync,
} from 'node:fs';
import {hostname, networkInterfaces} from 'node:os';
import {dirname} from 'node:path';
import {errorMessage, LongarmError} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import {findSecrecyFault} from '../../../shared/node/private-file.js';
import {
	createSelfSigned,
	inspectIdentity,
	type SelfSignedIdentity,
} from '../../../transports/node/self-signed-certificate.js';

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
const MISSING: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR']);
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/;
const KEY = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n/;

export interface KeptIdentity extends SelfSignedIdentity {
	readonly fingerprint: string;
	readonly validUntil: Date;
}

export interface SelfSignedOptions {
	/** File of the certificate and its key. */
	readonly path: string;
	/** Address of the listener. */
	readonly host: string;
	/** Further names of this machine. */
	readonly names: readonly string[];
}

/**
 * The certificate of this machine that nobody else has signed. It is kept in a file, so that its fingerprint is the same
 * after a restart, until it expires.
 */
export function keepSelfSigned({path, host, names}: SelfSignedOptions, logger: Logger): KeptIdentity {
	const kept = readKept(path);
	if (kept && kept.validUntil.getTime() > Date.now()) return kept;
	if (kept)
		logger.warn('the self-signed certificate has expired: a new one is made, and clients have to pin that', {path});
	const made = inspect(createSelfSigned([...listOwnNames(host), ...names]));
	try {
		return write(path, made, kept !== undefined);
	} catch (error) {
		logger.warn('the self-signed certificate cannot be kept: the next start will have another fingerprint', {
			path,
			reason: errorMessage(error),
		});
		return made;
	}
}

/** Undefined if there is none; throws if there is one that cannot be used. */
function readKept(path: string): KeptIdentity | undefined {
	let text: string;
	try {
		const fd = openSync(path, 'r');
		try {
			const fault = findSecrecyFault(fstatSync(fd), path);
			if (fault !== undefined) throw new Error(fault);
			text = readFileSync(fd, 'utf8');
		} finally {
			closeSync(fd);
		}
	} catch (error) {
		if (MISSING.has((error as NodeJS.ErrnoException).code)) return undefined;
		throw new LongarmError('TLS_INVALID', {message: `cannot read ${path}: ${errorMessage(error)}`});
	}
	const identity = {cert: CERTIFICATE.exec(text)?.[0] ?? '', key: KEY.exec(text)?.[0] ?? ''};
	const inspected = inspectIdentity(identity);
	if (inspected) return {...identity, ...inspected};
	throw new LongarmError('TLS_INVALID', {
		message: `${path} holds no certificate with its key; remove it for a new one`,
	});
}

/** Another server may have made one meanwhile: that one counts. */
function write(path: string, made: KeptIdentity, replaces: boolean): KeptIdentity {
	mkdirSync(dirname(path), {recursive: true, mode: DIRECTORY_MODE});
	const temporary = `${path}.${randomBytes(6).toString('hex')}`;
	writeFileSync(temporary, `${made.cert}${made.key}`, {flag: 'wx', mode: FILE_MODE});
	if (replaces) {
		renameSync(temporary, path);
		return made;
	}
	try {
		linkSync(temporary, path);
		return made;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
		return readKept(path) ?? made;
	} finally {
		unlinkSync(temporary);
	}
}

function inspect(identity: SelfSignedIdentity): KeptIdentity {
	return {...identity, ...inspectIdentity(identity)!};
}

/** Names and addresses by which clients may call a listener at this address. */
function listOwnNames(host: string): string[] {
	const addresses = ANY_ADDRESS.has(host)
		? Object.values(networkInterfaces()).flatMap(all => all?.map(({address}) => address) ?? [])
		: [host];
	const names = [hostname(), 'localhost'].filter(name => /^[\w-]+(?:\.[\w-]+)*$/.test(name));
	return [...names, ...addresses.map(address => address.replace(/%.*$/, ''))];
}
