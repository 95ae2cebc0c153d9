import {createPrivateKey, generateKeyPairSync, randomBytes, sign, X509Certificate} from 'node:crypto';
import {isIP, isIPv6} from 'node:net';
import {formatFingerprint} from './fingerprint.js';
import type {TlsIdentity} from './tls-server.js';

const DAY_MS = 86_400_000;
/** Validity of a certificate. */
const VALID_DAYS = 365;
/** Clocks of clients may be this much behind. */
const CLOCK_SKEW_MS = 3_600_000;
const SERIAL_BYTES = 16;
/** Years from here on have four digits in a certificate. */
const FIRST_GENERALIZED_YEAR = 2050;

const TAG = {
	boolean: 0x01,
	integer: 0x02,
	bitString: 0x03,
	octetString: 0x04,
	objectId: 0x06,
	utf8: 0x0c,
	utcTime: 0x17,
	generalizedTime: 0x18,
	sequence: 0x30,
	set: 0x31,
	dnsName: 0x82,
	ipAddress: 0x87,
	version: 0xa0,
	extensions: 0xa3,
} as const;

/** Object identifiers, as they are encoded. */
const ID = {
	ecdsaWithSha256: '2a8648ce3d040302',
	commonName: '550403',
	keyUsage: '551d0f',
	subjectAltName: '551d11',
	basicConstraints: '551d13',
	extendedKeyUsage: '551d25',
	serverAuth: '2b06010505070301',
} as const;

export interface SelfSignedIdentity extends TlsIdentity {
	readonly cert: string;
	readonly key: string;
}

/**
 * Makes a key (P-256) and a certificate for these names and addresses that is signed with it, good for a year by default. Node
 * can read certificates, not make them, and `openssl` need not be installed.
 */
export function createSelfSigned(
	names: readonly string[],
	now = new Date(),
	validDays = VALID_DAYS,
): SelfSignedIdentity {
	const {publicKey, privateKey} = generateKeyPairSync('ec', {namedCurve: 'P-256'});
	const algorithm = sequence(objectId(ID.ecdsaWithSha256));
	const name = sequence(der(TAG.set, sequence(objectId(ID.commonName), der(TAG.utf8, Buffer.from('longarm')))));
	const toBeSigned = sequence(
		der(TAG.version, der(TAG.integer, Buffer.from([2]))),
		der(TAG.integer, createSerial()),
		algorithm,
		name,
		sequence(time(now.getTime() - CLOCK_SKEW_MS), time(now.getTime() + validDays * DAY_MS)),
		name,
		publicKey.export({type: 'spki', format: 'der'}),
		der(TAG.extensions, sequence(...listExtensions(names))),
	);
	const signature = sign('sha256', toBeSigned, privateKey);
	const certificate = sequence(toBeSigned, algorithm, bitString(signature));
	return {cert: toPem(certificate), key: privateKey.export({type: 'pkcs8', format: 'pem'}) as string};
}

/** Fingerprint and end of a certificate that belongs to its key; undefined if it does not, or cannot be read. */
export function inspectIdentity({cert, key}: TlsIdentity): {fingerprint: string; validUntil: Date} | undefined {
	try {
		const certificate = new X509Certificate(cert);
		if (!certificate.checkPrivateKey(createPrivateKey(key))) return undefined;
		return {
			fingerprint: formatFingerprint(certificate.fingerprint256),
			validUntil: new Date(certificate.validTo),
		};
	} catch {
		return undefined;
	}
}

/** A server, no authority, which answers to the names. */
function listExtensions(names: readonly string[]): Buffer[] {
	const isCritical = der(TAG.boolean, Buffer.from([0xff]));
	const extension = (id: string, value: Buffer, ...flags: Buffer[]): Buffer =>
		sequence(objectId(id), ...flags, der(TAG.octetString, value));
	return [
		extension(ID.basicConstraints, sequence(), isCritical),
		// One bit, that of digital signatures, and seven that are not used.
		extension(ID.keyUsage, der(TAG.bitString, Buffer.from([7, 0x80])), isCritical),
		extension(ID.extendedKeyUsage, sequence(objectId(ID.serverAuth))),
		extension(ID.subjectAltName, sequence(...[...new Set(names)].map(toGeneralName))),
	];
}

function toGeneralName(name: string): Buffer {
	return isIP(name) === 0 ? der(TAG.dnsName, Buffer.from(name, 'latin1')) : der(TAG.ipAddress, addressBytes(name));
}

function addressBytes(address: string): Buffer {
	if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
	// The parser of URLs knows every way to write one, and writes it in hexadecimal groups.
	const groups = new URL(`ws://[${address}]`).hostname.slice(1, -1);
	const [head = '', tail] = groups.split('::');
	const [front, back] = [head, tail ?? ''].map(part => (part === '' ? [] : part.split(':'))) as [string[], string[]];
	const zeros = Array.from({length: 8 - front.length - back.length}, () => '0');
	return Buffer.from([...front, ...zeros, ...back].map(group => group.padStart(4, '0')).join(''), 'hex');
}

/** Positive, and of full length. */
function createSerial(): Buffer {
	const serial = randomBytes(SERIAL_BYTES);
	serial[0] = (serial[0]! & 0x7f) | 0x40;
	return serial;
}

function time(at: number): Buffer {
	const date = new Date(at);
	const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
	return date.getUTCFullYear() < FIRST_GENERALIZED_YEAR
		? der(TAG.utcTime, Buffer.from(digits.slice(2)))
		: der(TAG.generalizedTime, Buffer.from(digits));
}

function sequence(...parts: readonly Buffer[]): Buffer {
	return der(TAG.sequence, Buffer.concat(parts));
}

function objectId(hex: string): Buffer {
	return der(TAG.objectId, Buffer.from(hex, 'hex'));
}

/** Of whole bytes. */
function bitString(bytes: Buffer): Buffer {
	return der(TAG.bitString, Buffer.concat([Buffer.from([0]), bytes]));
}

/** Tag, length and content. */
function der(tag: number, content: Buffer): Buffer {
	const {length} = content;
	if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
	const hex = length.toString(16);
	const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
	return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length]), bytes, content]);
}

function toPem(bytes: Buffer): string {
	const lines = bytes.toString('base64').match(/.{1,64}/g)!;
	return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
