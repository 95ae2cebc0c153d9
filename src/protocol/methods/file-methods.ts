import * as v from 'valibot';
import {base64Text, bytes, empty, optionalField, pathUri, u64} from '../wire/fields.js';
import {clientRequest, serverNotification} from './declare-method.js';
import {sandboxContext} from './sandbox-params.js';

const sandbox = optionalField(sandboxContext);
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
export const packParams = v.object({handleId, path: pathUri, names: optionalField(v.array(relativeName)), sandbox});
export const packResult = v.object({handleId, entries: u64, bytes: u64});
export const unpackParams = v.object({
	handleId,
	path: pathUri,
	overwrite: v.nullish(v.boolean(), false),
	partial: v.nullish(v.boolean(), false),
	sandbox,
});
export const finishParams = v.object({handleId, sha256: optionalField(v.string())});
export const finishResult = v.object({
	entries: u64,
	bytes: u64,
	sha256: v.string(),
	errors: v.array(v.object({path: uriText, message: v.string()})),
});

export const listParams = v.object({
	handleId,
	path: pathUri,
	depth: optionalField(u64),
	names: optionalField(v.array(relativeName)),
	sandbox,
});
export const digestParams = v.object({path: pathUri, offset: u64, length: u64, sandbox});
export const digestResult = v.object({sha256: v.string(), length: u64});
export const setAttributesParams = v.object({
	path: pathUri,
	entries: v.array(v.object({name: relativeName, mode: optionalField(u64), modifiedAtMs: optionalField(v.number())})),
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
	contents: optionalField(
		v.object({
			pattern: v.string(),
			regex: v.nullish(v.boolean(), false),
			ignoreCase: v.nullish(v.boolean(), false),
		}),
	),
	hidden: v.nullish(v.boolean(), false),
	ignoreFiles: v.nullish(v.boolean(), true),
	maxMatches: optionalField(u64),
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

export const watchMissingParams = v.object({watchId: u64, missing: v.array(pathUri), present: optionalField(pathUri)});
export const watchMissingResult = v.object({watching: v.boolean()});
export const missingChangedParams = v.object({watchId: u64});

/** Files, their transfer, watches and searches. */
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
		params: renameParams,
		result: empty,
		summary: 'Moves a file, a link or a directory within its file system.',
	}),
	'fs/pack': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: packParams,
		result: packResult,
		summary: 'A handle to read a whole tree from, as one tar stream.',
	}),
	'fs/unpack': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: unpackParams,
		result: openResult,
		summary: 'A handle to write a tar stream to, which becomes a tree.',
	}),
	'fs/finish': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: finishParams,
		result: finishResult,
		summary: 'Ends a transfer: what it held, its checksum, what could not be taken along.',
	}),
	'fs/list': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: listParams,
		result: openResult,
		summary: 'A handle to read the entries of a tree from, one line of JSON for each.',
	}),
	'fs/digest': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: digestParams,
		result: digestResult,
		summary: 'The SHA-256 of a part of a file, made where the file is.',
	}),
	'fs/setAttributes': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: setAttributesParams,
		result: setAttributesResult,
		summary: 'Sets modes and times of change below a directory.',
	}),
	'fs/watch': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: watchParams,
		result: empty,
		summary: 'Tells of every change below a path until it is told to stop.',
	}),
	'fs/unwatch': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: unwatchParams,
		result: empty,
		summary: 'Ends a watch.',
	}),
	'fs/changed': serverNotification({
		family: 'filesystem',
		since: 'longarm',
		params: changedParams,
		summary: 'Changes since the last one; an overflow means that some are unknown.',
	}),
	'fs/search': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: searchParams,
		result: searchResult,
		summary: 'Looks for names and contents; answers when it is through.',
	}),
	'fs/searchCancel': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		params: searchCancelParams,
		result: empty,
		summary: 'Ends a search.',
	}),
	'fs/searchMatches': serverNotification({
		family: 'filesystem',
		since: 'longarm',
		params: searchMatchesParams,
		summary: 'What a search has found since the last one.',
	}),
} as const;
