import type {FileError} from '../../client/files/file-error.js';
import {decodeUtf8} from '../../protocol/path-uri/path-uri-encoding.js';
import {UNSAFE_CHARACTERS} from '../../shared/unsafe-characters.js';

const BYTES_NO_TEXT = /[^\x20-\x7e]/g;

/** A text as a terminal may show it: control characters are written out. */
export function printable(text: string): string {
	return text.replace(UNSAFE_CHARACTERS, character => {
		const code = character.codePointAt(0)!;
		return code < 0x100 ? escapeByte(code) : `\\u${code.toString(16).padStart(4, '0')}`;
	});
}

/** The same of a name in bytes, one character for each; those that are no text are written out. */
export function printableName(binary: string): string {
	const text = decodeUtf8(binary);
	return text === undefined ? binary.replace(BYTES_NO_TEXT, byte => escapeByte(byte.charCodeAt(0))) : printable(text);
}

/** Reason of a failed file, which is named elsewhere, without the number of the system error, which is for programs. */
export function printableReason({detail}: FileError): string {
	return printable(detail.replace(/ \(os error \d+\)$/, ''));
}

function escapeByte(code: number): string {
	return `\\x${code.toString(16).padStart(2, '0')}`;
}
