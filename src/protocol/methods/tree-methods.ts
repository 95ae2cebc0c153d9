import * as v from 'valibot';
import {empty, optionalField, pathUri, u64} from '../wire/fields.js';
import {clientRequest, serverNotification} from './declare-method.js';
import {handleId, openResult, root, sandbox, sync, uriText} from './file-methods.js';

/** Path relative to a directory, percent-encoded like a URI; empty for the directory itself. */
const relativeName = v.string();
const packParams = v.object({handleId, path: pathUri, names: optionalField(v.array(relativeName)), sandbox});
const packResult = v.object({handleId, entries: u64, bytes: u64});
const unpackParams = v.object({
	handleId,
	path: pathUri,
	overwrite: v.nullish(v.boolean(), false),
	partial: v.nullish(v.boolean(), false),
	sandbox,
	root,
	sync,
});
const finishParams = v.object({handleId, sha256: optionalField(v.string())});
const finishResult = v.object({
	entries: u64,
	bytes: u64,
	sha256: v.string(),
	errors: v.array(v.object({path: uriText, message: v.string()})),
});

const listParams = v.object({
	handleId,
	path: pathUri,
	depth: optionalField(u64),
	names: optionalField(v.array(relativeName)),
	sandbox,
	root,
	after: optionalField(relativeName),
});
const digestParams = v.object({path: pathUri, offset: u64, length: u64, sandbox, root});
const digestResult = v.object({sha256: v.string(), length: u64});
const setAttributesParams = v.object({
	path: pathUri,
	entries: v.array(v.object({name: relativeName, mode: optionalField(u64), modifiedAtMs: optionalField(v.number())})),
	sandbox,
	root,
	sync,
});
const setAttributesResult = v.object({
	errors: v.array(v.object({path: uriText, message: v.string()})),
});

const watchId = v.string();
const watchParams = v.object({
	watchId,
	path: pathUri,
	recursive: v.nullish(v.boolean(), true),
	ignore: v.nullish(v.array(v.string()), () => []),
	sandbox,
});
const unwatchParams = v.object({watchId});
const changedParams = v.object({
	watchId,
	changes: v.array(v.object({path: uriText, kind: v.picklist(['created', 'modified', 'removed'])})),
	overflow: v.boolean(),
	ended: v.nullable(v.string()),
});

const searchId = v.string();
const searchParams = v.object({
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
const searchResult = v.object({
	files: u64,
	matches: u64,
	truncated: v.boolean(),
	cancelled: v.boolean(),
	errors: v.array(v.object({path: uriText, message: v.string()})),
});
const searchMatchesParams = v.object({
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
const searchCancelParams = v.object({searchId});

/** Transfers, watches and searches of whole trees. */
export const TREE_METHODS = {
	'fs/pack': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsTransfer',
		params: packParams,
		result: packResult,
		summary: 'A handle to read a whole tree from, as one tar stream.',
	}),
	'fs/unpack': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsTransfer',
		params: unpackParams,
		result: openResult,
		summary: 'A handle to write a tar stream to, which becomes a tree.',
	}),
	'fs/finish': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsTransfer',
		params: finishParams,
		result: finishResult,
		summary: 'Ends a transfer: what it held, its checksum, what could not be taken along.',
	}),
	'fs/list': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsResume',
		params: listParams,
		result: openResult,
		summary: 'A handle to read the entries of a tree from, one line of JSON for each.',
	}),
	'fs/digest': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsResume',
		params: digestParams,
		result: digestResult,
		summary: 'The SHA-256 of a part of a file, made where the file is.',
	}),
	'fs/setAttributes': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsResume',
		params: setAttributesParams,
		result: setAttributesResult,
		summary: 'Sets modes and times of change below a directory.',
	}),
	'fs/watch': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsWatch',
		params: watchParams,
		result: empty,
		summary: 'Tells of every change below a path until it is told to stop.',
	}),
	'fs/unwatch': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsWatch',
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
		capability: 'fsSearch',
		params: searchParams,
		result: searchResult,
		summary: 'Looks for names and contents; answers when it is through.',
	}),
	'fs/searchCancel': clientRequest({
		family: 'filesystem',
		since: 'longarm',
		capability: 'fsSearch',
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
