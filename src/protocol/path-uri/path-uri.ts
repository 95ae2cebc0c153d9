import {decodeBase64, encodeBase64} from '../../shared/base64.js';
import {
	decodeUtf8,
	decodeUtf16,
	encodeUtf8,
	encodeUtf16,
	fromBinaryString,
	percentDecode,
	percentEncode,
	toBinaryString,
} from './path-uri-encoding.js';
import {isAbsoluteWindowsPath, joinWindowsPath, splitWindowsPath} from './path-uri-windows.js';

const ROOT = 'file:///';
const OPAQUE_PREFIX = `${ROOT}%00/bad/path/`;
const SLASH = 0x2f;

/** URI that is its own normal form, whose text behind the scheme is the path: nothing to decode, no dot segments. */
const PLAIN_POSIX = /^file:\/\/(?:\/(?!\.{1,2}(?:\/|$))[\w\-.+=@,~]+)+$/;
const SCHEME = 'file://';

/** Path syntax of an operating system. */
export type PathConvention = 'posix' | 'windows';

/** Text or path that has no valid `file:` URI. The message may be sent to the peer. */
export class PathUriError extends Error {
	override readonly name = 'PathUriError';
}

/**
 * Absolute path as a `file:` URI, the form of paths on the wire for every pair of platforms.
 *
 * A path that no plain URI names faithfully has an opaque form: `file:///%00/bad/path/` and the base64url of its bytes
 * (UTF-16LE for Windows). A POSIX path needs it if its first component looks like a drive.
 */
export class PathUri {
	#isPlain = false;

	private constructor(
		/** Dot segments resolved, drive letter in upper case, no `localhost`; repeated and trailing slashes stay. */
		readonly href: string,
		readonly convention: PathConvention,
	) {}

	/** Reads a `file:` URI or an absolute path of the native convention. Throws a `PathUriError` for anything else. */
	static parse(text: string, native: PathConvention = 'posix'): PathUri {
		if (PLAIN_POSIX.test(text)) {
			const uri = new PathUri(text, 'posix');
			uri.#isPlain = true;
			return uri;
		}
		const isPath = native === 'posix' ? text.startsWith('/') : isAbsoluteWindowsPath(text);
		if (isPath) return PathUri.fromNative(text, native);
		const href = normalizeHref(text);
		if (href.startsWith(OPAQUE_PREFIX)) return PathUri.#fromOpaque(href, native);
		if (href.includes('%00')) throw invalidUriError(platformName(native), href);
		return new PathUri(href, href.startsWith(ROOT) && !/^file:\/{3,}[A-Z]:(?:\/|$)/.test(href) ? 'posix' : 'windows');
	}

	/**
	 * Names an absolute native path; bytes are those of a POSIX path or the UTF-16LE of a Windows path. Drops repeated
	 * and trailing separators and resolves dot segments, symbolic links or not. Throws a `PathUriError` if the path is
	 * relative or holds a NUL, or if a string for POSIX holds half a surrogate pair.
	 */
	static fromNative(path: string | Uint8Array, convention: PathConvention = 'posix'): PathUri {
		return convention === 'posix' ? PathUri.#fromPosix(path) : PathUri.#fromWindows(path);
	}

	/**
	 * The bytes of the path on a POSIX system, without NUL, dot segments, repeated or trailing slashes; `%2F` separates
	 * like a slash. Throws a `PathUriError` that names the platform if the URI is one of Windows.
	 */
	toNativeBytes(platform: string): Uint8Array {
		return fromBinaryString(this.#posixPath(platform));
	}

	/** Like toNativeBytes(), as a binary string: one character for each byte. */
	toBinary(platform: string): string {
		return this.#posixPath(platform);
	}

	/** Names an absolute POSIX path given with one character for each byte. */
	static fromBinary(path: string): PathUri {
		return PathUri.#fromPosixBinary(path);
	}

	/** Names an entry of this POSIX directory, which has to be in normal form; the name has one character for each byte. */
	child(name: string): PathUri {
		const href = this.#plainChildHref(name);
		return href === undefined ? PathUri.fromBinary(`${this.#posixPath('posix')}/${name}`) : new PathUri(href, 'posix');
	}

	/** The text of `child`, for a caller that needs nothing else. */
	childHref(name: string): string {
		return this.#plainChildHref(name) ?? this.child(name).href;
	}

	#plainChildHref(name: string): string | undefined {
		const isPlain = this.href !== ROOT && !this.href.startsWith(OPAQUE_PREFIX);
		return isPlain ? `${this.href}/${percentEncode(name)}` : undefined;
	}

	/** Like toNativeBytes(), as text; undefined if the bytes are not UTF-8. */
	toNativeString(platform: string): string | undefined {
		return decodeUtf8(this.#posixPath(platform));
	}

	/**
	 * The path on Windows: `C:\dir\file` or `\\host\share\file`. Throws a `PathUriError` if the URI is not one of
	 * Windows or names no such path. Tested with strings only, never run on Windows.
	 */
	toWindowsPath(): string {
		if (this.convention !== 'windows') throw invalidUriError('windows', this.href);
		const payload = decodeOpaque(this.href);
		if (payload) return decodeUtf16(payload);
		const [, host = '', encoded = ''] = /^file:\/\/([^/]*)(.*)$/.exec(this.href) ?? [];
		const path = decodeUtf8(percentDecode(encoded));
		const joined = path && joinWindowsPath({host, segments: resolveSegments(path.split(/[\\/]/), 1)});
		if (!joined) throw invalidUriError('windows', this.href);
		return joined;
	}

	#posixPath(platform: string): string {
		if (this.#isPlain) return this.href.slice(SCHEME.length);
		if (this.convention !== 'posix') throw invalidUriError(platform, this.href);
		const payload = decodeOpaque(this.href);
		const path = payload ? toBinaryString(payload) : percentDecode(this.href.slice(ROOT.length));
		return `/${resolveSegments(path.split('/'), 0).join('/')}`;
	}

	static #fromPosix(given: string | Uint8Array): PathUri {
		const path = typeof given === 'string' ? encodeUtf8(given) : toBinaryString(given);
		if (path === undefined) throw new PathUriError('path is not valid Unicode');
		return PathUri.#fromPosixBinary(path);
	}

	static #fromPosixBinary(path: string): PathUri {
		if (!path.startsWith('/')) throw new PathUriError('path is not absolute');
		const segments = resolveSegments(path.split('/'), 0);
		const resolved = segments.join('/');
		const href = ROOT + percentEncode(resolved);
		if (path.includes('\0')) throw invalidUriError(platformName('posix'), href);
		// A URL parser takes both `C:` and `C|` for a drive.
		const ambiguous = /^[A-Za-z][:|]$/.test(segments[0] ?? '');
		return new PathUri(ambiguous ? encodeOpaque(fromBinaryString(`/${resolved}`)) : href, 'posix');
	}

	static #fromWindows(given: string | Uint8Array): PathUri {
		const path = typeof given === 'string' ? given : decodeUtf16(given);
		if (!isAbsoluteWindowsPath(path)) throw new PathUriError('path is not absolute');
		if (path.includes('\0')) throw invalidUriError('windows', path.replaceAll('\0', '%00'));
		const split = splitWindowsPath(path);
		if (!split) return new PathUri(encodeOpaque(encodeUtf16(path)), 'windows');
		const segments = resolveSegments(split.segments, 1);
		if (segments.length === 1 && split.host === '') segments.push('');
		return new PathUri(`file://${split.host}/${percentEncode(encodeUtf8(segments.join('/')) ?? '')}`, 'windows');
	}

	/** Accepts the opaque form only if the path has no plain one. */
	static #fromOpaque(href: string, native: PathConvention): PathUri {
		const payload = decodeOpaque(href);
		try {
			const uri = payload && PathUri.fromNative(payload, payload[0] === SLASH ? 'posix' : 'windows');
			if (uri?.href === href) return uri;
		} catch {
			// A relative path, or one with a NUL: as invalid as one that has a plain URI.
		}
		throw invalidUriError(platformName(native), href);
	}
}

/** Platform named in error messages for the convention. */
function platformName(convention: PathConvention): string {
	return convention === 'posix' ? 'linux' : 'windows';
}

function invalidUriError(platform: string, href: string): PathUriError {
	return new PathUriError(`'${href}' is invalid on '${platform}'`);
}

function normalizeHref(text: string): string {
	const {protocol, href} = parseUrl(text);
	if (protocol !== 'file:') throw new PathUriError(`unsupported path URI scheme \`${protocol.slice(0, -1)}\``);
	// `search` and `hash` are empty for a bare `?` and `#`.
	const [metadata] = /[?#]/.exec(href) ?? [];
	if (metadata === '?') throw new PathUriError('query parameters are not allowed in path URIs');
	if (metadata === '#') throw new PathUriError('fragments are not allowed in path URIs');
	return upperCaseDrive(text.includes('^') ? normalizeKeepingCarets(text) : href);
}

function parseUrl(text: string): URL {
	try {
		return new URL(text);
	} catch {
		throw new PathUriError(explainInvalidUrl(text.replace(/^[\0- ]+|[\t\n\r]/g, '')));
	}
}

function explainInvalidUrl(text: string): string {
	const scheme = /^([a-z][a-z\d+.-]*):/i.exec(text)?.[1]?.toLowerCase();
	if (scheme === undefined) return 'invalid URI: relative URL without a base';
	if (scheme !== 'file') return `unsupported path URI scheme \`${scheme}\``;
	const authority = /^file:[\\/]{2}([^\\/?#]*)/i.exec(text)?.[1] ?? '';
	if (authority.includes('@')) return 'credentials are not allowed in path URIs';
	if (/:\d+$/.test(authority)) return 'ports are not allowed in path URIs';
	return 'invalid URI: invalid host';
}

/** Keeps carets unescaped: URL parsers disagree on encoding them, and URIs are compared as strings. */
function normalizeKeepingCarets(text: string): string {
	const escaped = text.replace(/[~^]/g, symbol => (symbol === '^' ? '~1' : '~0'));
	return new URL(escaped).href.replace(/~[01]/g, symbol => (symbol === '~1' ? '^' : '~'));
}

function upperCaseDrive(href: string): string {
	const [start] = /^file:\/{3,}[a-z](?=:(?:\/|$))/.exec(href) ?? [];
	return start ? start.slice(0, -1) + start.slice(-1).toUpperCase() + href.slice(start.length) : href;
}

/** Drops empty and single-dot segments; a double-dot one removes the one before, except the first `fixed`. */
function resolveSegments(segments: readonly string[], fixed: number): string[] {
	const resolved: string[] = [];
	for (const segment of segments) {
		if (segment === '' || segment === '.') continue;
		if (segment !== '..') resolved.push(segment);
		else if (resolved.length > fixed) resolved.pop();
	}
	return resolved;
}

function encodeOpaque(path: Uint8Array): string {
	return OPAQUE_PREFIX + encodeBase64(path).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Path bytes of an opaque URI; undefined for any other URI. */
function decodeOpaque(href: string): Uint8Array | undefined {
	const text = href.startsWith(OPAQUE_PREFIX) ? href.slice(OPAQUE_PREFIX.length) : '';
	if (!/^[\w-]+$/.test(text)) return undefined;
	const padding = '='.repeat(-text.length & 3);
	try {
		return decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/') + padding);
	} catch {
		return undefined;
	}
}
