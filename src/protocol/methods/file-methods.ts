import * as v from 'valibot';
import {base64Text, bytes, empty, optionalField, pathUri, u64} from '../wire/fields.js';
import {type Capabilities, clientRequest, serverNotification} from './declare-method.js';
import {sandboxContext} from './sandbox-params.js';

export const sandbox = optionalField(sandboxContext);
const followSymlinks = v.nullish(v.boolean(), true);
/** Directory above the path: links are followed up to it, and none below it. Last, for params by position. */
export const root = optionalField(pathUri);
/** The change survives a power cut once it is answered. */
export const sync = v.nullish(v.boolean(), false);
export const handleId = v.string();
export const uriText = v.pipe(v.string(), v.title('PathUri'));

const readFileParams = v.object({path: pathUri, followSymlinks, sandbox, root});
const readFileResult = v.object({dataBase64: bytes});
/** `dataBase64` stays text here: bad base64 is the handler's error (-32600), not a decoding error. */
const writeFileParams = v.object({
	path: pathUri,
	dataBase64: v.pipe(base64Text, v.title('Base64')),
	followSymlinks,
	atomic: v.nullish(v.boolean(), false),
	sandbox,
	root,
});

const openParams = v.object({
	handleId,
	path: pathUri,
	mode: v.optional(v.picklist(['read', 'replace', 'update']), 'read'),
	sandbox,
	root,
	owned: v.nullish(v.boolean(), false),
});
export const openResult = v.object({handleId});
const readBlockParams = v.object({handleId, offset: u64, len: u64});
/** Progress of a transfer: entries and bytes of file content. */
const progress = v.object({entries: u64, bytes: u64});
const readBlockResult = v.object({chunk: bytes, eof: v.boolean(), progress: v.optional(progress)});
const writeBlockParams = v.object({handleId, offset: u64, chunk: bytes});
const writeBlockResult = v.object({progress: v.optional(progress)});
const closeParams = v.object({handleId});

const createDirectoryParams = v.object({
	path: pathUri,
	recursive: v.nullish(v.boolean(), true),
	followSymlinks,
	sandbox,
	root,
});
const getMetadataParams = v.object({path: pathUri, followSymlinks, sandbox, root});
const getMetadataResult = v.object({
	isDirectory: v.boolean(),
	isFile: v.boolean(),
	isSymlink: v.boolean(),
	size: v.optional(u64),
	createdAtMs: v.number(),
	modifiedAtMs: v.number(),
});
const canonicalizeParams = v.object({path: pathUri, sandbox});
const canonicalizeResult = v.object({path: uriText});
const readDirectoryParams = v.object({path: pathUri, sandbox});
const readDirectoryResult = v.object({
	entries: v.array(v.object({fileName: v.string(), isDirectory: v.boolean(), isFile: v.boolean()})),
});
const walkParams = v.object({
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
const walkResult = v.object({
	entries: v.array(v.object({path: uriText, kind: v.picklist(['directory', 'file'])})),
	errors: v.array(v.object({path: uriText, message: v.string()})),
	truncated: v.boolean(),
});
const removeParams = v.object({
	path: pathUri,
	recursive: v.nullish(v.boolean(), true),
	force: v.nullish(v.boolean(), true),
	followSymlinks,
	sandbox,
	root,
});
const copyParams = v.object({
	sourcePath: pathUri,
	destinationPath: pathUri,
	recursive: v.boolean(),
	sandbox,
});

const renameParams = v.object({
	sourcePath: pathUri,
	destinationPath: pathUri,
	overwrite: v.nullish(v.boolean(), false),
	sandbox,
	root,
	sync,
});

const watchMissingParams = v.object({watchId: u64, missing: v.array(pathUri), present: optionalField(pathUri)});
const watchMissingResult = v.object({watching: v.boolean()});
const missingChangedParams = v.object({watchId: u64});

export const FILE_CAPABILITIES: Capabilities = {
	fsAtomicWrite: true,
	fsRoot: true,
	fsOwned: true,
	fsListAfter: true,
	fsSync: true,
};

/** Single files and directories. */
export const FILE_METHODS = {
	'fs/readFile': clientRequest({
		family: 'filesystem',
		since: 'v1',
		params: readFileParams,
		result: readFileResult,
		summary: 'A whole regular file.',
	}),
	'fs/writeFile': clientRequest({
		family: 'filesystem',
		since: 'v1',
		params: writeFileParams,
		result: empty,
		summary: 'Creates or replaces a file.',
	}),
	'fs/open': clientRequest({
		family: 'filesystem',
		since: '2026-06',
		params: openParams,
		result: openResult,
		summary: 'A handle for block reads or writes, owned by the connection.',
	}),
	'fs/readBlock': clientRequest({
		family: 'filesystem',
		since: '2026-06',
		params: readBlockParams,
		result: readBlockResult,
		summary: 'A block at an offset.',
	}),
	'fs/writeBlock': clientRequest({
		family: 'filesystem',
		since: '0.166',
		capability: 'fileWriteStreaming',
		params: writeBlockParams,
		result: writeBlockResult,
		summary: 'Writes a block at an offset.',
	}),
	'fs/close': clientRequest({
		family: 'filesystem',
		since: '2026-06',
		params: closeParams,
		result: empty,
		summary: 'Closes a handle.',
	}),
	'fs/createDirectory': clientRequest({
		family: 'filesystem',
		since: 'v1',
		params: createDirectoryParams,
		result: empty,
		summary: 'Creates a directory.',
	}),
	'fs/getMetadata': clientRequest({
		family: 'filesystem',
		since: 'v1',
		params: getMetadataParams,
		result: getMetadataResult,
		summary: 'Kind, size and times of a path.',
	}),
	'fs/canonicalize': clientRequest({
		family: 'filesystem',
		since: '2026-06',
		params: canonicalizeParams,
		result: canonicalizeResult,
		summary: 'The path without links.',
	}),
	'fs/readDirectory': clientRequest({
		family: 'filesystem',
		since: 'v1',
		params: readDirectoryParams,
		result: readDirectoryResult,
		summary: 'The direct children of a directory.',
	}),
	'fs/walk': clientRequest({
		family: 'filesystem',
		since: '2026-06',
		params: walkParams,
		result: walkResult,
		summary: 'A tree, breadth first, within limits.',
	}),
	'fs/remove': clientRequest({
		family: 'filesystem',
		since: 'v1',
		params: removeParams,
		result: empty,
		summary: 'Removes a file, a link or a tree.',
	}),
	'fs/copy': clientRequest({
		family: 'filesystem',
		since: 'v1',
		params: copyParams,
		result: empty,
		summary: 'Copies a file, a link or a tree.',
	}),
	'fs/watchMissing': clientRequest({
		family: 'filesystem',
		since: '0.166',
		capability: 'fsWatchMissing',
		params: watchMissingParams,
		result: watchMissingResult,
		summary: 'Tells once when one of these paths appears.',
	}),
	'fs/missingChanged': serverNotification({
		family: 'filesystem',
		since: '0.166',
		params: missingChangedParams,
		summary: 'A watched path appeared.',
	}),
	'fs/rename': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsRename',
		params: renameParams,
		result: empty,
		summary: 'Moves a file, a link or a directory within its file system.',
	}),
} as const;
