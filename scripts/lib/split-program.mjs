// Bundles the command into parts that are loaded when they are needed, each one function in the older module format:
// that loads sooner than modules do, and V8 can keep their compiled form. Parts that the same starts need lie in one
// file: V8 takes one compiled form of a hundred parts in half the time of a hundred.
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {basename, join, resolve} from 'node:path';
import {Script} from 'node:vm';
import {build} from 'esbuild';

const IMPORT = /import(?:(\{[^}]*\})from)?"\.\/([^"]+)";/g;
const DYNAMIC_IMPORT = /import\("\.\/([^"]+)"\)/g;
/** Of a module in the older format that is loaded when it is needed. */
const DEFAULT_EXPORT = /export default ([\w$]+\(\));\s*$/;
const EXPORT = /export(\{[^}]*\});\s*$/;
const MUTABLE_EXPORTS = /^\s*export\s+(?:let|var)\b\s*([\w$]*);?/gm;
/** Parts up to this size take less time in the first file, which every start reads, than another file would. */
const SMALL_PART_BYTES = 2048;
const NOT_ASCII = /[\u0080-\uffff]/;

/**
 * Names of the files; the first is the one to begin with. By name of a start, `starts` lists modules that are loaded in
 * it, each the entry or imported late somewhere. Throws when a part would not do what its modules do.
 */
export async function splitProgram({entry, outdir, starts = {}, ...options}) {
	const {outputFiles, metafile} = await build({
		...options,
		entryPoints: {main: entry},
		outdir,
		format: 'esm',
		splitting: true,
		write: false,
		metafile: true,
		minifySyntax: true,
		minifyWhitespace: true,
	});
	const imports = importsByPart(metafile);
	refuseCycles(imports);
	refuseMutableExports(metafile);
	const places = placeParts(metafile, imports, starts);
	const files = new Map();
	for (const {path, text} of outputFiles) {
		const name = basename(path);
		const source = toFunction(name, text, imports.get(name), places);
		const file = places.get(name) ?? name;
		files.set(file, [...(files.get(file) ?? []), [name, source]]);
	}
	mkdirSync(outdir, {recursive: true});
	for (const [file, parts] of files)
		writeFileSync(join(outdir, file), places.has(parts[0][0]) ? toFile(parts) : parts[0][1]);
	return [...files.keys()];
}

/**
 * The module `text` as a function. `expected` are the parts it imports according to the bundler: text that only looks
 * like an import, in a string for example, must not be rewritten, and no import may be overlooked.
 */
export function toFunction(name, text, expected, places = new Map()) {
	const placeOf = part => (places.has(part) ? `./${places.get(part)}#${part}` : `./${part}`);
	// The launcher reads one byte per character. Regular expressions are the place where the bundler does not escape.
	if (NOT_ASCII.test(text)) throw new Error(`${name}: holds characters that are not ASCII; write them as \\u escapes`);
	const found = {static: new Set(), dynamic: new Set()};
	const body = text
		.replace(DEFAULT_EXPORT, (_, value) => `module.exports={default:${value}};`)
		.replace(EXPORT, (_, names) => `module.exports=${swapped(names)};`)
		.replace(IMPORT, (_, names, part) => {
			found.static.add(part);
			return `${names ? `const${renamed(names)}=` : ''}require("${placeOf(part)}");`;
		})
		.replaceAll(DYNAMIC_IMPORT, (_, part) => {
			found.dynamic.add(part);
			return `Promise.resolve().then(()=>require("${placeOf(part)}"))`;
		});
	for (const kind of ['static', 'dynamic']) {
		const overlooked = [...expected[kind]].filter(part => !found[kind].has(part));
		const made = [...found[kind]].filter(part => !expected[kind].has(part));
		if (overlooked.length > 0)
			throw new Error(`${name}: the ${kind} import of ${overlooked.join(', ')} was overlooked`);
		if (made.length > 0)
			throw new Error(`${name}: text that mentions ${made.join(', ')} was taken for a ${kind} import`);
	}
	if (/\bimport\s*\(/.test(body)) throw new Error(`${name}: an import() that the bundler could not resolve is left`);
	const wrapped = `(function (require, module, importMetaUrl) {${body}\n})`;
	try {
		// An import or export that was overlooked does not compile inside a function.
		void new Script(wrapped, {filename: name});
	} catch (cause) {
		throw new Error(`${name}: ${cause.message} in what became of it`, {cause});
	}
	return wrapped;
}

/** By part: names of the parts it imports when it is loaded, and of those it imports later. */
function importsByPart({outputs}) {
	return new Map(
		Object.entries(outputs).map(([path, {imports}]) => {
			const own = imports.filter(({external}) => !external);
			const namesOf = kind => new Set(own.filter(each => each.kind === kind).map(each => basename(each.path)));
			return [basename(path), {static: namesOf('import-statement'), dynamic: namesOf('dynamic-import')}];
		}),
	);
}

/** One script whose value has a function by name of a part. In parentheses: all of them run, so V8 compiles them at once. */
function toFile(parts) {
	return `({${parts.map(([name, source]) => `${JSON.stringify(name)}:${source}`).join(',\n')}})`;
}

/**
 * By part: the file it lies in with others, for parts that a start needs. Those of the entry lie in one file, and those
 * that the same starts need: no start reads what only others need.
 */
function placeParts({outputs}, imports, starts) {
	const places = new Map();
	if (Object.keys(starts).length === 0) return places;
	const partOf = new Map(
		Object.entries(outputs).map(([path, {entryPoint}]) => [entryPoint && resolve(entryPoint), basename(path)]),
	);
	const users = new Map();
	for (const [start, modules] of Object.entries({main: [], ...starts})) {
		const needed = new Set();
		const visit = part => {
			if (needed.has(part)) return;
			needed.add(part);
			for (const below of imports.get(part).static) visit(below);
		};
		visit('main.js');
		for (const module of modules) {
			const part = partOf.get(resolve(module));
			if (!part) throw new Error(`${module}: no part begins with it; name modules that are imported late`);
			visit(part);
		}
		for (const part of needed) users.set(part, [...(users.get(part) ?? []), start]);
	}
	const bytesOf = new Map(Object.entries(outputs).map(([path, {bytes}]) => [basename(path), bytes]));
	for (const [part, [first, ...others]] of users) {
		const isEverywhere = first === 'main' || bytesOf.get(part) <= SMALL_PART_BYTES;
		places.set(part, isEverywhere ? 'main.js' : `${[first, ...others].join('-')}.js`);
	}
	return places;
}

/** In a cycle one of the parts would take members of another before they are there. */
function refuseCycles(imports) {
	const done = new Set();
	const visit = (name, above) => {
		if (above.includes(name)) throw new Error(`parts import each other: ${[...above, name].join(' -> ')}`);
		if (done.has(name)) return;
		for (const below of imports.get(name).static) visit(below, [...above, name]);
		done.add(name);
	};
	for (const name of imports.keys()) visit(name, []);
}

/** Members are taken once, when a part begins: it would not see a variable change that another part exports. */
function refuseMutableExports({inputs}) {
	for (const path of Object.keys(inputs)) {
		if (/^[\w-]+:/.test(path)) continue;
		const text = readFileSync(path, 'utf8');
		const names = [...text.matchAll(MUTABLE_EXPORTS)].map(match => match[1]);
		// An enumeration has its members when its module is loaded, and never changes then.
		if (names.some(name => name === '' || !text.includes(`})(${name} || (${name} = {}));`)))
			throw new Error(`${path}: exports a variable that may change; export a constant or a function`);
	}
}

/** `{a as b,c}` of an import becomes `{a:b,c}`. */
function renamed(names) {
	return names.replaceAll(/([\w$]+) as ([\w$]+)/g, '$1:$2');
}

/** `{a as b,c}` of an export becomes `{b:a,c}`. */
function swapped(names) {
	return names.replaceAll(/([\w$]+) as ([\w$]+)/g, '$2:$1');
}
