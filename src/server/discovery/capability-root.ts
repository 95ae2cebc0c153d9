import {type BytePath, baseName, joinPath, parentPath, toDisplayText} from '../../filesystem/byte-path.js';
import {isErrno, refusedError} from '../../filesystem/file-errors.js';
import {readWholeFile} from '../../filesystem/read-file.js';
import {preferredCalls} from '../../filesystem/syscalls.js';
import {walkBreadthFirst} from '../../filesystem/walk.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import {Yielder} from '../../shared/node/yielder.js';
import {parseSkillHeader, parseSkillMetadata, type SkillHeader, type SkillMetadata} from './skill-file.js';

/** Upstream's limits of a search below one directory. */
const WALK = {maxDepth: 6, maxDirectories: 2000, maxEntries: 20_000};
/** Bytes of one file that a discovery reads. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Bytes of all files that a discovery reads below one directory. */
const MAX_ROOT_BYTES = 16 * 1024 * 1024;
/** Places of a manifest below the directory of its plugin, the preferred one first. */
const MANIFESTS = ['.codex-plugin', '.claude-plugin', '.cursor-plugin'].map(name => `${name}/plugin.json`);
const SKILL_FILE = /\/SKILL\.md$/;

export interface TextFile {
	readonly path: string;
	readonly contents: string;
}

export type Skill = SkillHeader & SkillMetadata & {readonly path: string};

/** Reads the files of one directory, within limits, and remembers whether something is missing. */
export class CapabilityRoot {
	readonly path: BytePath;
	readonly #yielder = new Yielder();
	#bytes = 0;
	/** Whether a file could not be read or understood, or a limit was reached. */
	isIncomplete = false;

	constructor(path: BytePath) {
		this.path = path;
	}

	/** Manifest of the plugin that a directory is. */
	async readManifest(directory: BytePath = this.path): Promise<TextFile | undefined> {
		for (const name of MANIFESTS) {
			const file = await this.read(joinPath(directory, name));
			if (file) return file;
		}
		return undefined;
	}

	/** Returns undefined if the file is missing or cannot be read; the latter also marks the root as incomplete. */
	async read(path: BytePath): Promise<TextFile | undefined> {
		const pause = this.#yielder.yieldIfDue();
		if (pause) await pause;
		const admit = async (bytes: number, read: () => Promise<Uint8Array>): Promise<Uint8Array> => {
			if (bytes > MAX_FILE_BYTES || this.#bytes + bytes > MAX_ROOT_BYTES) throw refusedError('too large');
			return read();
		};
		try {
			if (!(await preferredCalls(path).stat(path)).isFile()) return undefined;
			const bytes = await readWholeFile(path, {followSymlinks: true, admit});
			this.#bytes += bytes.length;
			const contents = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
			return {path: PathUri.fromBinary(path).href, contents};
		} catch (error) {
			if (!isErrno(error, 'ENOENT', 'ENOTDIR')) this.isIncomplete = true;
			return undefined;
		}
	}

	/** Skills below the directory by path; each has the name of the innermost plugin it belongs to in front of its own. */
	async findSkills(): Promise<Skill[]> {
		const files = await this.#listFiles();
		const namespaces = await this.#findNamespaces(files);
		const skills: Skill[] = [];
		for (const uri of files.filter(path => SKILL_FILE.test(path)).sort()) {
			const path = toPath(uri);
			const file = await this.read(path);
			const metadata = file && (await this.read(joinPath(parentPath(path), 'agents/openai.yaml')));
			if (file) skills.push(...this.#parse(file, path, namespaces, metadata));
			else this.isIncomplete = true;
		}
		return skills;
	}

	#parse(file: TextFile, path: BytePath, namespaces: ReadonlyMap<BytePath, string>, metadata?: TextFile): Skill[] {
		const directory = parentPath(path);
		const name = toDisplayText(baseName(directory));
		const header = this.#try(() => parseSkillHeader(file.contents, name, nearest(namespaces, directory)));
		const known = metadata && this.#try(() => parseSkillMetadata(metadata.contents));
		return header ? [{...header, path: file.path, dependencies: null, policy: null, ...known}] : [];
	}

	#try<T>(parse: () => T): T | undefined {
		try {
			return parse();
		} catch {
			this.isIncomplete = true;
			return undefined;
		}
	}

	async #listFiles(): Promise<string[]> {
		try {
			const options = {...WALK, followDirectorySymlinks: true, pruneHiddenDirectories: false};
			const {entries, errors, truncated} = await walkBreadthFirst(this.path, options);
			if (errors.length > 0 || truncated) this.isIncomplete = true;
			return entries.flatMap(({path, kind}) => (kind === 'file' ? [path] : []));
		} catch (error) {
			if (!isErrno(error, 'ENOENT', 'ENOTDIR')) this.isIncomplete = true;
			return [];
		}
	}

	/** Names of plugins by their directories: those below the root, and the innermost one that the root belongs to. */
	async #findNamespaces(files: readonly string[]): Promise<Map<BytePath, string>> {
		const directories = new Set(
			files
				.filter(uri => MANIFESTS.some(name => uri.endsWith(`/${name}`)))
				.map(uri => parentPath(parentPath(toPath(uri)))),
		);
		const namespaces = new Map<BytePath, string>();
		for (const directory of directories) await this.#addNamespace(namespaces, directory);
		for (let directory = this.path; ; directory = parentPath(directory)) {
			if ((await this.#addNamespace(namespaces, directory)) || directory === parentPath(directory)) return namespaces;
		}
	}

	/** Whether there is a manifest. */
	async #addNamespace(namespaces: Map<BytePath, string>, directory: BytePath): Promise<boolean> {
		const manifest = await this.readManifest(directory);
		const name = manifest && readPluginName(manifest, directory);
		if (name !== undefined) namespaces.set(directory, name);
		return manifest !== undefined;
	}
}

function readPluginName({contents}: TextFile, directory: BytePath): string | undefined {
	try {
		const {name = ''} = JSON.parse(contents) as {name?: unknown};
		return typeof name === 'string' ? nameOr(name, directory) : undefined;
	} catch {
		return undefined;
	}
}

/** Name of a plugin, or that of its directory. */
export function nameOr(name: string, directory: BytePath): string {
	return name.trim() === '' ? toDisplayText(baseName(directory)) : name;
}

function nearest(namespaces: ReadonlyMap<BytePath, string>, directory: BytePath): string | undefined {
	for (let at = directory; ; at = parentPath(at)) {
		const name = namespaces.get(at);
		if (name !== undefined || at === parentPath(at)) return name;
	}
}

function toPath(uri: string): BytePath {
	return PathUri.parse(uri).toBinary(process.platform) as BytePath;
}
