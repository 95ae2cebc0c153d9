import {execFileSync} from 'node:child_process';
import {X509Certificate} from 'node:crypto';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {formatFingerprint, parseFingerprint} from '../../../src/transports/node/fingerprint.js';
import {createSelfSigned, inspectIdentity} from '../../../src/transports/node/self-signed-certificate.js';
import {needs, optionalProgram} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const NAMES = ['devbox.example', 'localhost', '127.0.0.1', '::1', 'fe80::1:2', '2001:db8:1:2:3:4:5:6'];

test('a certificate is for its names and addresses, from an hour ago on for a year, and signed by its own key', () => {
	const identity = createSelfSigned(NAMES, new Date('2026-03-01T12:00:00.123Z'));
	const certificate = new X509Certificate(identity.cert);
	expect(certificate.subjectAltName).toBe(
		'DNS:devbox.example, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:FE80:0:0:0:0:0:1:2, IP Address:2001:DB8:1:2:3:4:5:6',
	);
	expect([certificate.validFrom, certificate.validTo].map(each => new Date(each).toISOString())).toEqual([
		'2026-03-01T11:00:00.000Z',
		'2027-03-01T12:00:00.000Z',
	]);
	expect(certificate.verify(certificate.publicKey)).toBe(true);
	expect(certificate.ca).toBe(false);
	expect(certificate.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
	expect(inspectIdentity(identity)).toEqual({
		fingerprint: `sha256:${certificate.fingerprint256.replaceAll(':', '').toLowerCase()}`,
		validUntil: new Date(certificate.validTo),
	});
	expect(inspectIdentity({...identity, key: createSelfSigned([]).key})).toBeUndefined();
	expect(inspectIdentity({cert: '', key: ''})).toBeUndefined();
});

test('dates from 2050 on are written with four digits of the year', () => {
	const {cert} = createSelfSigned(['localhost'], new Date('2049-06-01T00:00:00Z'));
	const {validFrom, validTo} = new X509Certificate(cert);
	expect([validFrom, validTo].map(each => new Date(each).getUTCFullYear())).toEqual([2049, 2050]);
});

test('openssl finds no fault with it', needs('openssl'), () => {
	const path = join(scratchDirectory(), 'cert.pem');
	writeFileSync(path, createSelfSigned(NAMES).cert);
	expect(openssl('verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', path, path)).toBe(`${path}: OK\n`);
	const shown = openssl('x509', '-in', path, '-noout', '-text');
	expect(shown).toContain('Signature Algorithm: ecdsa-with-SHA256');
	expect(shown).toMatch(/Basic Constraints: critical\s+CA:FALSE/);
	expect(shown).toMatch(/Key Usage: critical\s+Digital Signature\n/);
	expect(shown).toContain('TLS Web Server Authentication');
	const fingerprint = openssl('x509', '-in', path, '-noout', '-fingerprint', '-sha256').trim();
	expect(parseFingerprint(fingerprint)).toBe(inspectFingerprint(path));
});

function openssl(...args: string[]): string {
	return execFileSync(optionalProgram('openssl'), args, {encoding: 'utf8', stdio: 'pipe'});
}

function inspectFingerprint(path: string): string {
	return formatFingerprint(new X509Certificate(execFileSync('cat', [path])).fingerprint256);
}

const DIGITS = 'ab'.repeat(32);

test.each([
	[`sha256:${DIGITS}`, `sha256:${DIGITS}`],
	[`SHA256:${DIGITS.toUpperCase()}`, `sha256:${DIGITS}`],
	[`sha256 Fingerprint=${DIGITS.match(/../g)!.join(':')}`, `sha256:${DIGITS}`],
	[` sha256:${DIGITS}\n`, `sha256:${DIGITS}`],
	[DIGITS, undefined],
	[`sha256:${DIGITS}ab`, undefined],
	[`sha256:${DIGITS.slice(2)}`, undefined],
	[`sha1:${DIGITS}`, undefined],
	['', undefined],
])('the fingerprint %j is read as %j', (text, expected) => {
	expect(parseFingerprint(text)).toBe(expected);
});
