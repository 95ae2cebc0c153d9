import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {dirname, join, relative, resolve} from 'node:path';
import {parseAst} from 'rolldown/parseAst';

/** Which test files can reach which source files, by the imports that exist when the program runs. */
export class ImportGraph {
	#root;
	#imports = new Map();
	tests;

	constructor(root) {
		this.#root = root;
		this.tests = filesUnder(join(root, 'test'), '.test.ts').map(path => relative(root, path));
	}

	/** Hops from a test to each file it reaches, itself included with 0. */
	hopsFrom(test) {
		const hops = new Map([[test, 0]]);
		for (const [file, hop] of hops)
			for (const next of this.#importsOf(file)) if (!hops.has(next)) hops.set(next, hop + 1);
		return hops;
	}

	#importsOf(file) {
		let imports = this.#imports.get(file);
		if (imports === undefined) {
			imports = readImports(join(this.#root, file)).map(path => relative(this.#root, path));
			this.#imports.set(file, imports);
		}
		return imports;
	}
}

export function filesUnder(directory, ending) {
	return readdirSync(directory, {recursive: true, withFileTypes: true})
		.filter(entry => entry.isFile() && entry.name.endsWith(ending))
		.map(entry => join(entry.parentPath ?? entry.path, entry.name))
		.sort();
}

function readImports(path) {
	const specifiers = [];
	const look = node => {
		if (node.importKind === 'type' || node.exportKind === 'type') return;
		if (typeof node.source?.value === 'string') specifiers.push(node.source.value);
		for (const value of Object.values(node).flat()) if (typeof value?.type === 'string') look(value);
	};
	look(parseAst(readFileSync(path, 'utf8'), {lang: 'ts'}));
	return specifiers
		.filter(specifier => specifier.startsWith('.'))
		.map(specifier => resolve(dirname(path), specifier).replace(/\.js$/, '.ts'))
		.filter(target => target.endsWith('.ts') && existsSync(target));
}
