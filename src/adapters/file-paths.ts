import type {BytePath} from '../filesystem/byte-path.js';
import {refusedError} from '../filesystem/file-errors.js';
import type {Params} from '../protocol/methods/method-table.js';
import {PathUri, PathUriError} from '../protocol/path-uri/path-uri.js';

/** Converts a URI to a path of this machine. */
export function toNativePath(uri: PathUri): BytePath {
	try {
		return uri.toBinary(process.platform) as BytePath;
	} catch (error) {
		if (error instanceof PathUriError) throw refusedError(error.message);
		throw error;
	}
}

/** The root of a request, below which no link is followed. */
export function toRoot(uri: PathUri | null | undefined): BytePath | undefined {
	return uri ? toNativePath(uri) : undefined;
}

export function toUriText(path: BytePath): string {
	return PathUri.fromBinary(path).href;
}

/** Refuses a policy that cannot be enforced, instead of ignoring it; profiles that restrict nothing need no sandbox. */
export function refuseSandbox(sandbox: Params<'fs/readFile'>['sandbox']): void {
	const profile = sandbox?.permissions;
	if (profile?.type !== 'managed' || profile.file_system.type !== 'restricted') return;
	const writesEverywhere = profile.file_system.entries.some(
		({path, access}) => access === 'write' && path.type === 'special' && path.value.kind === 'root',
	);
	if (!writesEverywhere) throw refusedError('filesystem sandbox cannot be enforced on this executor');
}
