const PREFIX = 'sha256:';
/** Our own form, and the one of `openssl x509 -fingerprint -sha256`. */
const FINGERPRINT = /^sha256(?::| fingerprint=)((?:[0-9a-f]{2}:?){31}[0-9a-f]{2})$/i;

/** Form of a fingerprint, for error texts. */
export const FINGERPRINT_FORM = 'sha256: and 64 hexadecimal digits';

/** `sha256:HEX` in small letters and without colons; undefined for a text that is no fingerprint. */
export function parseFingerprint(text: string): string | undefined {
	const digits = FINGERPRINT.exec(text.trim())?.[1];
	return digits === undefined ? undefined : formatFingerprint(digits);
}

/** From the digits, with colons between them or not. */
export function formatFingerprint(digits: string): string {
	return `${PREFIX}${digits.replaceAll(':', '').toLowerCase()}`;
}
