// Bundles the command into parts that are loaded when they are needed, each one function in the older module format:
// that loads sooner than modules do, and V8 can keep the compiled form of each part.
import {mkdirSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {Script} from 'node:vm';
import {build} from 'esbuild';

const IMPORT = /import(?:(\{[^}]*\})from)?"\.\/([^"]+)";/g;
/** Of a module in the older format that is loaded when it is needed. */
const DEFAULT_EXPORT = /export default ([\w$]+\(\));\s*$/;
const EXPORT = /export(\{[^}]*\});\s*$/;

/** Names of the parts; the first is the one to begin with. */
export async function splitProgram({entry, outdir, ...options}) {
	const {outputFiles} = await build({
		...options,
		entryPoints: {main: entry},
		outdir,
		format: 'esm',
		splitting: true,
		write: false,
		minifySyntax: true,
		minifyWhitespace: true,
	});
	mkdirSync(outdir, {recursive: true});
	for (const {path, text} of outputFiles) writeFileSync(join(outdir, basename(path)), toFunction(text));
	return outputFiles.map(({path}) => basename(path));
}

/** Parts form no circle and change nothing they export, so that members can be taken once, when a part begins. */
function toFunction(text) {
	const body = text
		.replace(DEFAULT_EXPORT, (_, value) => `module.exports={default:${value}};`)
		.replace(EXPORT, (_, names) => `module.exports=${swapped(names)};`)
		.replace(IMPORT, (_, names, part) => `${names ? `const${renamed(names)}=` : ''}require("./${part}");`)
		.replaceAll(/import\("\.\/([^"]+)"\)/g, (_, part) => `Promise.resolve().then(()=>require("./${part}"))`);
	const wrapped = `(function (require, module, importMetaUrl) {${body}\n})`;
	// An import or export that was overlooked does not compile inside a function.
	void new Script(wrapped);
	return wrapped;
}

/** `{a as b,c}` of an import becomes `{a:b,c}`. */
function renamed(names) {
	return names.replaceAll(/([\w$]+) as ([\w$]+)/g, '$1:$2');
}

/** `{a as b,c}` of an export becomes `{b:a,c}`. */
function swapped(names) {
	return names.replaceAll(/([\w$]+) as ([\w$]+)/g, '$2:$1');
}
