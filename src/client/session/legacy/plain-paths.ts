import {JsonParts} from '../../../protocol/wire/encode.js';
import {toPathUri} from '../../paths.js';

/** Members of requests that name a path. */
const PATHS: ReadonlySet<string> = new Set(['cwd', 'path', 'sourcePath', 'destinationPath']);
const PATHS_IN_JSON = /"(cwd|path|sourcePath|destinationPath)":"(file:[^"\\]*)"/g;

/** The same request with paths instead of `file:` URIs, for servers from before those. */
export function withPlainPaths(params: unknown): unknown {
	if (params instanceof JsonParts) return new JsonParts(params.parts.map(withPlainText), params.release);
	if (typeof params !== 'object' || params === null) return params;
	const members = Object.entries(params).map(([name, value]: [string, unknown]) => {
		return [name, PATHS.has(name) && typeof value === 'string' ? plain(value) : value];
	});
	return Object.fromEntries(members);
}

function withPlainText(part: string | Uint8Array): string | Uint8Array {
	if (typeof part !== 'string') return part;
	return part.replace(PATHS_IN_JSON, (_member, name: string, uri: string) => `"${name}":${JSON.stringify(plain(uri))}`);
}

/** A name that is no text has no plain form; the server says so itself. */
function plain(path: string): string {
	const uri = toPathUri(path);
	return uri.convention === 'windows' ? uri.toWindowsPath() : (uri.toNativeString('linux') ?? uri.href);
}
