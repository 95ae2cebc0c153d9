const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** Costs nothing for a string that V8 stores in one byte per character, as it does any base64 off the wire. */
const BEYOND_LATIN_1 = /[^\0-\xff]/;
/** Argument limit for spreading bytes into a call. */
const BTOA_CHUNK_BYTES = 8192; /** The text is not canonical base64. Offsets count characters. */
export class Base64Error extends Error {
	override readonly name = 'Base64Error';
}

/** Length of the encoded text in characters, padding included. */
export function base64Length(byteLength: number): number {
	return Math.ceil(byteLength / 3) * 4;
}

/** Standard alphabet, padded. */
export function encodeBase64(bytes: Uint8Array): string {
	const buffer = nodeBuffer();
	return buffer
		? buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
		: encodeWithBtoa(bytes);
}

/**
 * Accepts only what `encodeBase64` produces: standard alphabet, padded, no white space, no stray bits in the last
 * symbol. Throws a `Base64Error` otherwise. The bytes may share their `ArrayBuffer` with others.
 */
export function decodeBase64(text: string): Uint8Array {
	const bytes = decodeLeniently(text);
	if (!bytes || bytes.length !== canonicalByteLength(text) || hasStrayBits(text)) throw explainInvalidText(text);
	return bytes;
}

interface NodeBufferConstructor {
	from(data: ArrayBufferLike, offset: number, length: number): {toString(encoding: 'base64'): string};
	from(text: string, encoding: 'base64'): Uint8Array;
}

function nodeBuffer(): NodeBufferConstructor | undefined {
	return (globalThis as {Buffer?: NodeBufferConstructor}).Buffer;
}

/**
 * Characters outside the alphabet make the result shorter than the text promises, or undefined: both decoders drop
 * them or stop there. So the caller only has to check the length.
 */
function decodeLeniently(text: string): Uint8Array | undefined {
	const buffer = nodeBuffer();
	if (!buffer) return decodeWithAtob(text);
	// Node also takes the URL-safe alphabet, and of a character beyond Latin-1 it looks at the low byte only.
	if (text.includes('-') || text.includes('_') || BEYOND_LATIN_1.test(text)) return undefined;
	return buffer.from(text, 'base64');
}

/** NaN if no bytes encode to a text of this length. */
function canonicalByteLength(text: string): number {
	return text.length % 4 === 0 ? (text.length / 4) * 3 - paddingLength(text) : Number.NaN;
}

function paddingLength(text: string): number {
	if (!text.endsWith('=')) return 0;
	return text.endsWith('==') ? 2 : 1;
}

/** True if the last symbol before the padding has bits set that belong to no byte. */
function hasStrayBits(text: string): boolean {
	const padding = paddingLength(text);
	const unused = padding === 2 ? 0b1111 : 0b11;
	return padding > 0 && (ALPHABET.indexOf(text.charAt(text.length - padding - 1)) & unused) !== 0;
}

/** Error for the first invalid symbol of a text that did not decode. */
function explainInvalidText(text: string): Base64Error {
	const end = text.length - paddingLength(text);
	for (let offset = 0; offset < end; offset++) {
		if (!ALPHABET.includes(text.charAt(offset))) return invalidSymbolError(text, offset);
	}
	// Padding does not come before the third symbol of a quartet.
	if (end < text.length && end % 4 < 2) return invalidSymbolError(text, end);
	if (text.length % 4 !== 0) return new Base64Error('Invalid padding');
	return new Base64Error(`Invalid last symbol ${text.charCodeAt(end - 1)}, offset ${end - 1}.`);
}

function invalidSymbolError(text: string, offset: number): Base64Error {
	return new Base64Error(`Invalid symbol ${text.charCodeAt(offset)}, offset ${offset}.`);
}

function encodeWithBtoa(bytes: Uint8Array): string {
	let binary = '';
	for (let offset = 0; offset < bytes.length; offset += BTOA_CHUNK_BYTES) {
		binary += String.fromCharCode(...bytes.subarray(offset, offset + BTOA_CHUNK_BYTES));
	}
	return btoa(binary);
}

function decodeWithAtob(text: string): Uint8Array | undefined {
	let binary: string;
	try {
		binary = atob(text);
	} catch {
		return undefined;
	}
	const bytes = new Uint8Array(binary.length);
	for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
	return bytes;
}
