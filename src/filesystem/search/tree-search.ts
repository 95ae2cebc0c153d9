import {closeSync, type Dirent, fstatSync, openSync, readdirSync, statSync} from 'node:fs';
import {type BytePath, baseName, joinPath, ROOT, toDisplayText, toFsPath} from '../byte-path.js';
import {fileErrorMessage} from '../file-errors.js';
import {fdPath} from '../no-follow.js';
import {refuseOwnEntry} from '../own-process.js';
import {O_PATH} from '../syscalls.js';
import {compileIgnoreRules, type IsIgnored} from '../watch/ignored.js';
import {searchFile} from './file-search.js';
import {IgnoreRules} from './ignore-files.js';
import type {LineMatch} from './line-search.js';
import {compileContents, compileNames, type MatchesName, type SearchRequest} from './query.js';

const LIST_OPTIONS = {withFileTypes: true, encoding: 'latin1'} as const;

export type SearchFinding =
	| {readonly kind: 'entry'; readonly path: BytePath; readonly isDirectory: boolean}
	| {readonly kind: 'line'; readonly path: BytePath; readonly match: LineMatch}
	| {readonly kind: 'error'; readonly path: BytePath; readonly message: string}
	/** A file was examined. */
	| {readonly kind: 'file'};

/**
 * Searches a tree, directory by directory, entries by name. Follows no links. Blocks, so it has to run in a worker
 * thread.
 */
export function* searchTree(query: SearchRequest): Generator<SearchFinding> {
	const {root, ignoreFiles} = query;
	const search = new TreeSearch(query);
	if (!statSync(toFsPath(root)).isDirectory()) {
		yield* search.searchSingleFile(root);
		return;
	}
	yield* search.searchDirectory(root, ignoreFiles ? IgnoreRules.loadAbove(root) : IgnoreRules.none);
}

class TreeSearch {
	readonly #query: SearchRequest;
	readonly #matchesName: MatchesName;
	readonly #isExcluded: IsIgnored;
	readonly #expression: RegExp | undefined;

	constructor(query: SearchRequest) {
		this.#query = query;
		this.#matchesName = compileNames(query.names);
		this.#isExcluded = compileIgnoreRules(query.exclude);
		this.#expression = query.contents && compileContents(query.contents);
	}

	/** Ignore rules do not apply to a file that is the root itself. */
	*searchSingleFile(path: BytePath): Generator<SearchFinding> {
		const name = toDisplayText(baseName(path));
		const isNamed = this.#matchesName(name, name);
		if (isNamed && !this.#expression) yield {kind: 'entry', path, isDirectory: false};
		yield* this.#searchFile(path, isNamed);
	}

	*searchDirectory(directory: BytePath, above: IgnoreRules): Generator<SearchFinding> {
		const {hidden, ignoreFiles} = this.#query;
		let children: Dirent[];
		try {
			children = listChildren(directory);
		} catch (error) {
			yield {kind: 'error', path: directory, message: fileErrorMessage(error)};
			return;
		}
		const rules = ignoreFiles ? above.withDirectory(directory) : above;
		children.sort((one, other) => (one.name < other.name ? -1 : 1));
		for (const child of children) {
			const path = joinPath(directory, child.name);
			if (!hidden && child.name.startsWith('.')) continue;
			// Git's own data is no text to search.
			if (ignoreFiles && child.name === '.git') continue;
			if (rules.ignores(path, child.isDirectory())) continue;
			yield* this.#searchEntry(path, child, rules);
		}
	}

	*#searchEntry(path: BytePath, child: Dirent, rules: IgnoreRules): Generator<SearchFinding> {
		const relative = path.slice(this.#query.root === ROOT ? 1 : this.#query.root.length + 1);
		const isDirectory = child.isDirectory();
		if (this.#isExcluded(relative, isDirectory)) return;
		const isNamed = this.#matchesName(toDisplayText(relative), toDisplayText(child.name));
		if (isNamed && !this.#expression) yield {kind: 'entry', path, isDirectory};
		if (isDirectory) yield* this.searchDirectory(path, rules);
		else if (child.isFile()) yield* this.#searchFile(path, isNamed);
	}

	*#searchFile(path: BytePath, isNamed: boolean): Generator<SearchFinding> {
		yield {kind: 'file'};
		if (!isNamed || !this.#expression) return;
		try {
			for (const match of searchFile(path, this.#expression)) yield {kind: 'line', path, match};
		} catch (error) {
			yield {kind: 'error', path, message: fileErrorMessage(error)};
		}
	}
}

/** The directory that was looked at is the one that is listed, whatever is put in its place. */
function listChildren(directory: BytePath): Dirent[] {
	if (process.platform !== 'linux') return readdirSync(toFsPath(directory), LIST_OPTIONS);
	const fd = openSync(toFsPath(directory), O_PATH);
	try {
		refuseOwnEntry(fd, fstatSync(fd));
		return readdirSync(fdPath(fd), LIST_OPTIONS);
	} finally {
		closeSync(fd);
	}
}
