/** Parsed path: no host and a drive such as `C:` as the first segment, or a host and its share. */
export interface WindowsPath {
	readonly host: string;
	readonly segments: readonly string[];
}

/** True if the text begins with a drive and a separator, or with two backslashes. */
export function isAbsoluteWindowsPath(text: string): boolean {
	return /^(?:[A-Za-z]:[\\/]|\\\\)/.test(text);
}

/**
 * Splits an absolute path at both kinds of separators; empty and dot segments stay. Returns undefined for paths a URI
 * cannot name faithfully: `\\.\` and `\\?\` namespaces, half surrogate pairs, hosts that a URL writes differently.
 * Tested with strings only, never run on Windows.
 */
export function splitWindowsPath(path: string): WindowsPath | undefined {
	if (/\p{Surrogate}/u.test(path)) return undefined;
	const segments = path.split(/[\\/]/);
	if (!path.startsWith('\\\\')) return {host: '', segments: [`${path.charAt(0).toUpperCase()}:`, ...segments.slice(1)]};
	const [host = '', share = '', ...rest] = segments.slice(2);
	if (!isPlainHost(host) || /^(?:\.{0,2}|[A-Za-z][:|])$/.test(share)) return undefined;
	return {host: host.toLowerCase(), segments: [share, ...rest]};
}

/** Joins segments, of which none is empty or a dot segment. Returns undefined for a host without a share. */
export function joinWindowsPath({host, segments}: WindowsPath): string | undefined {
	const [root, ...rest] = segments;
	if (root === undefined) return undefined;
	return host === '' ? `${root}\\${rest.join('\\')}` : `\\\\${host}\\${segments.join('\\')}`;
}

function isPlainHost(host: string): boolean {
	if (host === '' || host === '.') return false;
	try {
		return new URL(`file://${host}/`).host === host.toLowerCase();
	} catch {
		return false;
	}
}
