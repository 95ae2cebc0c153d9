// Binary strings: one character for each byte, so that bytes can be split and replaced like text.

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});
const NOT_ASCII = /[^\0-\x7f]/;

export function toBinaryString(bytes: Uint8Array): string {
	let binary = '';
	for (const byte of bytes) binary += String.fromCharCode(byte);
	return binary;
}

export function fromBinaryString(binary: string): Uint8Array {
	const bytes = new Uint8Array(binary.length);
	for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
	return bytes;
}

/** The UTF-8 of a text as a binary string; undefined if the text holds half a surrogate pair. */
export function encodeUtf8(text: string): string | undefined {
	if (!NOT_ASCII.test(text)) return text;
	return /\p{Surrogate}/u.test(text) ? undefined : toBinaryString(utf8Encoder.encode(text));
}

/** The text of a binary string; undefined if that is not UTF-8. */
export function decodeUtf8(binary: string): string | undefined {
	if (!NOT_ASCII.test(binary)) return binary;
	try {
		return utf8Decoder.decode(fromBinaryString(binary));
	} catch {
		return undefined;
	}
}

/** Bytes that upstream does not leave as they are. */
const ENCODED = /[^\w!$&'()*+,\-./:;=@[\]^|~]/g;
/** 1 for the others, by byte. */
const IS_PLAIN = Uint8Array.from({length: 256}, (_, byte) => (String.fromCharCode(byte).search(ENCODED) < 0 ? 1 : 0));

/** Encodes every byte except those that upstream leaves as they are; slashes stay. */
export function percentEncode(binary: string): string {
	return binary.replace(ENCODED, byte => {
		return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
	});
}

/** True for bytes that `percentEncode` leaves as they are. */
export function isPlainInUri(bytes: Uint8Array, start: number, end: number): boolean {
	for (let at = start; at < end; at++) if (IS_PLAIN[bytes[at]!] === 0) return false;
	return true;
}

/** The bytes of an ASCII text; a percent sign without two hexadecimal digits stands for itself. */
export function percentDecode(text: string): string {
	return text.replace(/%([\dA-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** UTF-16LE, half surrogate pairs included. */
export function encodeUtf16(text: string): Uint8Array {
	const bytes = new Uint8Array(text.length * 2);
	const view = new DataView(bytes.buffer);
	for (let index = 0; index < text.length; index++) view.setUint16(index * 2, text.charCodeAt(index), true);
	return bytes;
}

/** Decodes UTF-16LE; drops a last odd byte. */
export function decodeUtf16(bytes: Uint8Array): string {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let text = '';
	for (let offset = 0; offset + 1 < bytes.length; offset += 2)
		text += String.fromCharCode(view.getUint16(offset, true));
	return text;
}
