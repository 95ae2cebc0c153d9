import {constants} from 'node:os';
import {getSystemErrorMap} from 'node:util';

// Texts of the C library that libuv words differently or does not know.
const TEXTS: Record<string, string> = {
	ENOEXEC: 'Exec format error',
	ELOOP: 'Symbolic link loop',
	EBUSY: 'Resource busy',
	EAGAIN: 'Resource temporarily unavailable',
	ENOMEM: 'Out of memory',
	EIO: 'I/O error',
	ENXIO: 'No such device or address',
	EBADF: 'Bad file descriptor',
	ETXTBSY: 'Text file busy',
	EEXIST: 'File exists',
	ENOTEMPTY: 'Directory not empty',
	EISDIR: 'Is a directory',
};

/** `No such file or directory (os error 2)`: the protocol's text for an error of the operating system. */
export function osErrorText(errno: number): string {
	const positive = Math.abs(errno);
	const name = osErrorName(positive);
	const text = (name && TEXTS[name]) ?? capitalize(getSystemErrorMap().get(-positive)?.[1]) ?? 'Unknown error';
	return `${text} (os error ${positive})`;
}

export function osErrorName(errno: number): string | undefined {
	return Object.entries(constants.errno).find(([, value]) => value === Math.abs(errno))?.[0];
}

function capitalize(text: string | undefined): string | undefined {
	return text && text[0]!.toUpperCase() + text.slice(1);
}
