import * as v from 'valibot';
import {absent, bytes, pathUri, u64} from './fields.js';
import {sandboxContext} from './sandbox.js';

const sandbox = absent(sandboxContext);
const followSymlinks = v.nullish(v.boolean(), true);
const handleId = v.string();
const uriText = v.pipe(v.string(), v.title('PathUri'));

export const readFileParams = v.object({path: pathUri, followSymlinks, sandbox});
export const readFileResult = v.object({dataBase64: bytes});
/** `dataBase64` stays text here: bad base64 is the handler's error (-32600), not a decoding error. */
export const writeFileParams = v.object({path: pathUri, dataBase64: v.string(), followSymlinks, sandbox});

export const openParams = v.object({
	handleId,
	path: pathUri,
	mode: v.optional(v.picklist(['read', 'replace']), 'read'),
	sandbox,
});
export const openResult = v.object({handleId});
export const readBlockParams = v.object({handleId, offset: u64, len: u64});
export const readBlockResult = v.object({chunk: bytes, eof: v.boolean()});
export const writeBlockParams = v.object({handleId, offset: u64, chunk: bytes});
export const closeParams = v.object({handleId});

export const createDirectoryParams = v.object({
	path: pathUri,
	recursive: v.nullish(v.boolean(), true),
	followSymlinks,
	sandbox,
});
export const getMetadataParams = v.object({path: pathUri, followSymlinks, sandbox});
export const getMetadataResult = v.object({
	isDirectory: v.boolean(),
	isFile: v.boolean(),
	isSymlink: v.boolean(),
	size: v.optional(u64),
	createdAtMs: v.number(),
	modifiedAtMs: v.number(),
});
export const canonicalizeParams = v.object({path: pathUri, sandbox});
export const canonicalizeResult = v.object({path: uriText});
export const readDirectoryParams = v.object({path: pathUri, sandbox});
export const readDirectoryResult = v.object({
	entries: v.array(v.object({fileName: v.string(), isDirectory: v.boolean(), isFile: v.boolean()})),
});
export const walkParams = v.object({
	path: pathUri,
	options: v.object({
		maxDepth: u64,
		maxDirectories: u64,
		maxEntries: u64,
		followDirectorySymlinks: v.boolean(),
		pruneHiddenDirectories: v.nullish(v.boolean(), false),
	}),
	sandbox,
});
export const walkResult = v.object({
	entries: v.array(v.object({path: uriText, kind: v.picklist(['directory', 'file'])})),
	errors: v.array(v.object({path: uriText, message: v.string()})),
	truncated: v.boolean(),
});
export const removeParams = v.object({
	path: pathUri,
	recursive: v.nullish(v.boolean(), true),
	force: v.nullish(v.boolean(), true),
	followSymlinks,
	sandbox,
});
export const copyParams = v.object({
	sourcePath: pathUri,
	destinationPath: pathUri,
	recursive: v.boolean(),
	sandbox,
});

export const watchMissingParams = v.object({watchId: u64, missing: v.array(pathUri), present: absent(pathUri)});
export const watchMissingResult = v.object({watching: v.boolean()});
export const missingChangedParams = v.object({watchId: u64});
