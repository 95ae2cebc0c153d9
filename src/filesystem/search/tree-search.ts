import {type Dirent, readdirSync, statSync} from 'node:fs';
import {type BytePath, childOf, display, nameOf, ROOT, toSystem} from '../byte-path.js';
import {fileErrorMessage} from '../file-errors.js';
import {type Ignored, ignoring} from '../watch/ignored.js';
import {searchFile} from './file-search.js';
import {IgnoreRules} from './ignore-files.js';
import type {LineMatch} from './line-search.js';
import {compileContents, compileNames, type MatchesName, type SearchRequest} from './query.js';

export type SearchFinding =
	| {readonly kind: 'entry'; readonly path: BytePath; readonly isDirectory: boolean}
	| {readonly kind: 'line'; readonly path: BytePath; readonly match: LineMatch}
	| {readonly kind: 'error'; readonly path: BytePath; readonly message: string}
	/** A file was looked at. */
	| {readonly kind: 'file'};

/**
 * Looks through a tree, directory by directory, entries by name. It never follows a link and it blocks: it belongs in
 * a thread of its own.
 */
export function* searchTree(query: SearchRequest): Generator<SearchFinding> {
	const {root, ignoreFiles} = query;
	const search = new TreeSearch(query);
	if (!statSync(toSystem(root)).isDirectory()) {
		yield* search.singleFile(root);
		return;
	}
	yield* search.directory(root, ignoreFiles ? IgnoreRules.above(root) : IgnoreRules.none);
}

class TreeSearch {
	readonly #query: SearchRequest;
	readonly #matchesName: MatchesName;
	readonly #excluded: Ignored;
	readonly #expression: RegExp | undefined;

	constructor(query: SearchRequest) {
		this.#query = query;
		this.#matchesName = compileNames(query.names);
		this.#excluded = ignoring(query.exclude);
		this.#expression = query.contents && compileContents(query.contents);
	}

	/** Whoever names a file means it, whatever rules say. */
	*singleFile(path: BytePath): Generator<SearchFinding> {
		const name = display(nameOf(path));
		const isNamed = this.#matchesName(name, name);
		if (isNamed && !this.#expression) yield {kind: 'entry', path, isDirectory: false};
		yield* this.#file(path, isNamed);
	}

	*directory(directory: BytePath, above: IgnoreRules): Generator<SearchFinding> {
		const {hidden, ignoreFiles} = this.#query;
		let children: Dirent[];
		try {
			children = readdirSync(toSystem(directory), {withFileTypes: true, encoding: 'latin1'});
		} catch (error) {
			yield {kind: 'error', path: directory, message: fileErrorMessage(error)};
			return;
		}
		const rules = ignoreFiles ? above.in(directory) : above;
		children.sort((one, other) => (one.name < other.name ? -1 : 1));
		for (const child of children) {
			const path = childOf(directory, child.name);
			if (!hidden && child.name.startsWith('.')) continue;
			// The inside of a repository is nobody's text.
			if (ignoreFiles && child.name === '.git') continue;
			if (rules.ignores(path, child.isDirectory())) continue;
			yield* this.#entry(path, child, rules);
		}
	}

	*#entry(path: BytePath, child: Dirent, rules: IgnoreRules): Generator<SearchFinding> {
		const relative = path.slice(this.#query.root === ROOT ? 1 : this.#query.root.length + 1);
		const isDirectory = child.isDirectory();
		if (this.#excluded(relative, isDirectory)) return;
		const isNamed = this.#matchesName(display(relative), display(child.name));
		if (isNamed && !this.#expression) yield {kind: 'entry', path, isDirectory};
		if (isDirectory) yield* this.directory(path, rules);
		else if (child.isFile()) yield* this.#file(path, isNamed);
	}

	*#file(path: BytePath, isNamed: boolean): Generator<SearchFinding> {
		yield {kind: 'file'};
		if (!isNamed || !this.#expression) return;
		try {
			for (const match of searchFile(path, this.#expression)) yield {kind: 'line', path, match};
		} catch (error) {
			yield {kind: 'error', path, message: fileErrorMessage(error)};
		}
	}
}
