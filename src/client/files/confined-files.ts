import {describePath} from '../paths.js';
import {unsupportedError} from './file-error.js';
import type {Files, SandboxContext} from './files.js';

/** The same files with a sandbox for every operation, enforced by the executor; whoever holds them cannot take it off. */
export function confineFiles(files: Files, sandbox: SandboxContext): Files {
	return {
		supports: feature => files.supports(feature),
		readFile: (path, options) => files.readFile(path, {...options, sandbox}),
		readText: (path, options) => files.readText(path, {...options, sandbox}),
		writeFile: (path, content, options) => files.writeFile(path, content, {...options, sandbox}),
		createDirectory: (path, options) => files.createDirectory(path, {...options, sandbox}),
		metadata: (path, options) => files.metadata(path, {...options, sandbox}),
		canonicalize: (path, options) => files.canonicalize(path, {...options, sandbox}),
		readDirectory: (path, options) => files.readDirectory(path, {...options, sandbox}),
		walk: (path, options) => files.walk(path, {...options, sandbox}),
		remove: (path, options) => files.remove(path, {...options, sandbox}),
		stat: (path, options) => files.stat(path, {...options, sandbox}),
		exists: (path, options) => files.exists(path, {...options, sandbox}),
		readdir: (path, options) => files.readdir(path, {...options, sandbox}),
		mkdir: (path, options) => files.mkdir(path, {...options, sandbox}),
		rm: (path, options) => files.rm(path, {...options, sandbox}),
		copy: (from, to, options) => files.copy(from, to, {...options, sandbox}),
		rename: (from, to, options) => files.rename(from, to, {...options, sandbox}),
		readStream: (path, options) => files.readStream(path, {...options, sandbox}),
		writeStream: (path, options) => files.writeStream(path, {...options, sandbox}),
		watch: (path, options) => files.watch(path, {...options, sandbox}),
		watchMissing: async ([path = '']) => {
			throw unsupportedError('watchMissing in a sandbox', describePath(path));
		},
		search: (query, options) => files.search({...query, sandbox}, options),
		list: (path, options) => files.list(path, {...options, sandbox}),
		digest: (path, options) => files.digest(path, {...options, sandbox}),
		setAttributes: (path, entries, options) => files.setAttributes(path, entries, {...options, sandbox}),
		pack: (path, options) => files.pack(path, {...options, sandbox}),
		unpack: (path, options) => files.unpack(path, {...options, sandbox}),
	};
}
