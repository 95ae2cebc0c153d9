import * as v from 'valibot';
import {environmentInfo} from '../../../protocol/methods/environment-methods.js';
import {JsonParts} from '../../../protocol/wire/encode.js';
import {toPathUri} from '../../paths.js';

/** Request members that hold a path. */
const PATH_MEMBERS: ReadonlySet<string> = new Set(['cwd', 'path', 'sourcePath', 'destinationPath']);
const PATHS_IN_JSON = /"(cwd|path|sourcePath|destinationPath)":"(file:[^"\\]*)"/g;

/** Result of `initialize`, for servers of all protocol versions. */
export const initializeResult = v.object({
	sessionId: v.optional(v.string()),
	protocolVersion: v.optional(v.string()),
	environmentInfo: v.optional(environmentInfo),
});

/**
 * Protocol version of a server: `v1` takes plain paths and has no `environment/info`, `interim` has no sessions either,
 * `v0` has methods of its own for processes and nothing else.
 */
export type Dialect = 'current' | 'v1' | 'interim' | 'v0';

/** Undefined when the result does not decide it: then `environment/info` has to be called. */
export function detectDialect(result: v.InferOutput<typeof initializeResult>): Dialect | undefined {
	if (result.environmentInfo) return 'current';
	if (result.sessionId !== undefined) return undefined;
	return result.protocolVersion === undefined ? 'interim' : 'v0';
}

/** Replaces `file:` URIs in a request by native paths, for servers older than URIs. */
export function withPlainPaths(params: unknown): unknown {
	if (params instanceof JsonParts) return new JsonParts(params.parts.map(withPlainText), params.release);
	if (typeof params !== 'object' || params === null) return params;
	const members = Object.entries(params).map(([name, value]: [string, unknown]) => {
		return [name, PATH_MEMBERS.has(name) && typeof value === 'string' ? toPlainPath(value) : value];
	});
	return Object.fromEntries(members);
}

function withPlainText(part: string | Uint8Array): string | Uint8Array {
	if (typeof part !== 'string') return part;
	return part.replace(
		PATHS_IN_JSON,
		(_member, name: string, uri: string) => `"${name}":${JSON.stringify(toPlainPath(uri))}`,
	);
}

/** A path that is not valid Unicode has no plain form: it stays a URI, and the server rejects it. */
function toPlainPath(path: string): string {
	const uri = toPathUri(path);
	return uri.convention === 'windows' ? uri.toWindowsPath() : (uri.toNativeString('linux') ?? uri.href);
}
