import * as v from 'valibot';
import {absent, base64Text, bytes, pathUri, u64} from './fields.js';
import {sandboxContext} from './sandbox.js';

const sandbox = absent(sandboxContext);
const followSymlinks = v.nullish(v.boolean(), true);
const handleId = v.string();
const uriText = v.pipe(v.string(), v.title('PathUri'));

export const readFileParams = v.object({path: pathUri, followSymlinks, sandbox});
export const readFileResult = v.object({dataBase64: bytes});
/** `dataBase64` stays text here: bad base64 is the handler's error (-32600), not a decoding error. */
export const writeFileParams = v.object({
	path: pathUri,
	dataBase64: v.pipe(base64Text, v.title('Base64')),
	followSymlinks,
	atomic: v.nullish(v.boolean(), false),
	sandbox,
});

export const openParams = v.object({
	handleId,
	path: pathUri,
	mode: v.optional(v.picklist(['read', 'replace', 'update']), 'read'),
	sandbox,
});
export const openResult = v.object({handleId});
export const readBlockParams = v.object({handleId, offset: u64, len: u64});
/** How far a transfer has come: entries and bytes of file content. */
const progress = v.object({entries: u64, bytes: u64});
export const readBlockResult = v.object({chunk: bytes, eof: v.boolean(), progress: v.optional(progress)});
export const writeBlockParams = v.object({handleId, offset: u64, chunk: bytes});
export const writeBlockResult = v.object({progress: v.optional(progress)});
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

export const renameParams = v.object({
	sourcePath: pathUri,
	destinationPath: pathUri,
	overwrite: v.nullish(v.boolean(), false),
	sandbox,
});

/** The way from a directory to something below it, percent-encoded like a URI; empty for the directory itself. */
const relativeName = v.string();
export const packParams = v.object({handleId, path: pathUri, names: absent(v.array(relativeName)), sandbox});
export const packResult = v.object({handleId, entries: u64, bytes: u64});
export const unpackParams = v.object({
	handleId,
	path: pathUri,
	overwrite: v.nullish(v.boolean(), false),
	partial: v.nullish(v.boolean(), false),
	sandbox,
});
export const finishParams = v.object({handleId, sha256: absent(v.string())});
export const finishResult = v.object({
	entries: u64,
	bytes: u64,
	sha256: v.string(),
	errors: v.array(v.object({path: uriText, message: v.string()})),
});

export const listParams = v.object({
	handleId,
	path: pathUri,
	depth: absent(u64),
	names: absent(v.array(relativeName)),
	sandbox,
});
export const digestParams = v.object({path: pathUri, offset: u64, length: u64, sandbox});
export const digestResult = v.object({sha256: v.string(), length: u64});
export const setAttributesParams = v.object({
	path: pathUri,
	entries: v.array(v.object({name: relativeName, mode: absent(u64), modifiedAtMs: absent(v.number())})),
	sandbox,
});
export const setAttributesResult = v.object({
	errors: v.array(v.object({path: uriText, message: v.string()})),
});

const watchId = v.string();
export const watchParams = v.object({
	watchId,
	path: pathUri,
	recursive: v.nullish(v.boolean(), true),
	ignore: v.nullish(v.array(v.string()), () => []),
	sandbox,
});
export const unwatchParams = v.object({watchId});
export const changedParams = v.object({
	watchId,
	changes: v.array(v.object({path: uriText, kind: v.picklist(['created', 'modified', 'removed'])})),
	overflow: v.boolean(),
	ended: v.nullable(v.string()),
});

const searchId = v.string();
export const searchParams = v.object({
	searchId,
	path: pathUri,
	names: v.nullish(v.array(v.string()), () => []),
	exclude: v.nullish(v.array(v.string()), () => []),
	contents: absent(
		v.object({
			pattern: v.string(),
			regex: v.nullish(v.boolean(), false),
			ignoreCase: v.nullish(v.boolean(), false),
		}),
	),
	hidden: v.nullish(v.boolean(), false),
	ignoreFiles: v.nullish(v.boolean(), true),
	maxMatches: absent(u64),
	sandbox,
});
export const searchResult = v.object({
	files: u64,
	matches: u64,
	truncated: v.boolean(),
	cancelled: v.boolean(),
	errors: v.array(v.object({path: uriText, message: v.string()})),
});
export const searchMatchesParams = v.object({
	searchId,
	matches: v.array(
		v.object({
			path: uriText,
			kind: v.picklist(['directory', 'file']),
			line: v.optional(u64),
			column: v.optional(u64),
			byteOffset: v.optional(u64),
			text: v.optional(v.string()),
		}),
	),
});
export const searchCancelParams = v.object({searchId});

export const watchMissingParams = v.object({watchId: u64, missing: v.array(pathUri), present: absent(pathUri)});
export const watchMissingResult = v.object({watching: v.boolean()});
export const missingChangedParams = v.object({watchId: u64});
