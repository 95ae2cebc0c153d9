import {execFileSync, spawnSync} from 'node:child_process';
import {copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {scratchDirectory} from '../helpers/scratch.js';

interface Imports {
	readonly static: ReadonlySet<string>;
	readonly dynamic: ReadonlySet<string>;
}

interface SplitProgram {
	readonly splitProgram: (options: Record<string, unknown>) => Promise<string[]>;
	readonly toFunction: (name: string, text: string, expected: Imports) => string;
}

const SCRIPTS = new URL('../../scripts/', import.meta.url);
const {splitProgram, toFunction} = (await import(new URL('lib/split-program.mjs', SCRIPTS).href)) as SplitProgram;
const NONE: Imports = {static: new Set(), dynamic: new Set()};

/** Splits a program of these files; the folder with its launcher. */
async function split(files: Record<string, string>, options: Record<string, unknown> = {}): Promise<string> {
	const {folder = scratchDirectory(), ...others} = options as {folder?: string};
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(folder, name)), {recursive: true});
		writeFileSync(join(folder, name), text);
	}
	await splitProgram({
		bundle: true,
		platform: 'node',
		target: 'node20',
		define: {'import.meta.url': 'importMetaUrl'},
		logLevel: 'silent',
		entry: join(folder, 'main.js'),
		outdir: join(folder, 'bin/parts'),
		...others,
	});
	writeFileSync(join(folder, 'bin/package.json'), '{"type": "commonjs"}');
	copyFileSync(fileURLToPath(new URL('launcher.cjs', SCRIPTS)), join(folder, 'bin/longarm.js'));
	return join(folder, 'bin');
}

/** Splits a program and runs it through the launcher; its standard output. */
async function run(files: Record<string, string>): Promise<string> {
	const bin = await split(files);
	return execFileSync(process.execPath, [join(bin, 'longarm.js')], {encoding: 'utf8'}).trim();
}

test('members that two parts share under other names reach both', async () => {
	const printed = await run({
		'main.js': `Promise.all([import('./left.js'), import('./right.js')])
			.then(([left, right]) => console.log(left.value, right.value));`,
		'left.js': `import {one as first, $two} from './shared.js'; export const value = first + $two;`,
		'right.js': `import * as shared from './shared.js'; export {product as value}; const product = shared.one * shared.$two * 10;`,
		'shared.js': 'const kept = 1; export {kept as one}; export const $two = 2;',
	});
	expect(printed).toBe('3 20');
});

test('a part is loaded when it is imported, and once', async () => {
	const printed = await run({
		'main.js': `console.log('begin');
			import('./late.js').then(async first => console.log(first === await import('./late.js')));`,
		'late.js': `console.log('late'); export const loaded = true;`,
	});
	expect(printed).toBe('begin\nlate\ntrue');
});

test('a default export is there as `default`', async () => {
	const printed = await run({
		'main.js': `import('./late.js').then(({default: greet, name}) => console.log(greet(name)));`,
		'late.js': `export default function greet(name) {return 'hello ' + name}; export const name = 'part';`,
	});
	expect(printed).toBe('hello part');
});

test('a module in the older format is there as `default` when it is imported late', async () => {
	const printed = await run({
		'main.js': `import('./late.cjs').then(({default: late}) => console.log(late.answer));`,
		'late.cjs': 'exports.answer = 42;',
	});
	expect(printed).toBe('42');
});

test('a shared module that only does something does it once, before the part that imports it', async () => {
	const printed = await run({
		'main.js': `import('./left.js').then(() => import('./right.js'));`,
		'left.js': `import './effect.js'; console.log('left'); export {};`,
		'right.js': `import './effect.js'; console.log('right'); export {};`,
		'effect.js': `console.log('effect'); globalThis.effects = 1;`,
	});
	expect(printed).toBe('effect\nleft\nright');
});

test('importing a part that fails rejects each time', async () => {
	const printed = await run({
		'main.js': `const attempt = () => import('./late.js').catch(error => console.log(error.message));
			attempt().then(attempt);`,
		'late.js': `export const never = 1; throw new Error('broken');`,
	});
	expect(printed).toBe('broken\nbroken');
});

test('parts know the address of the launcher as their own', async () => {
	const printed = await run({'main.js': 'console.log(import.meta.url.endsWith("/bin/longarm.js"));'});
	expect(printed).toBe('true');
});

test('text outside ASCII is the same in a part', async () => {
	const printed = await run({'main.js': `console.log('Grüße, 世界 😀');`});
	expect(printed).toBe('Grüße, 世界 😀');
});

/** A module that is too large for the first file. */
function large(name: string, imports = ''): string {
	return `${imports} export const ${name} = ${JSON.stringify(name.repeat(1000))}.slice(0, ${name.length});`;
}

const TWO_STARTS = {
	'main.js': `import {small} from './small.js';
		const late = {left: () => import('./left.js'), right: () => import('./right.js'), rare: () => import('./rare.js')};
		late[process.argv[2]]().then(loaded => console.log(small, Object.values(loaded).join()));`,
	'left.js': large('left', "import './both.js'; export * from './all.js';"),
	'right.js': large('right', "import './both.js'; export * from './all.js'; import './tiny.js';"),
	'rare.js': large('rare', "export * from './all.js'; export * from './tiny.js';"),
	'both.js': `globalThis.both = ${JSON.stringify('both'.repeat(1000))};`,
	'all.js': large('all'),
	'small.js': 'export const small = 1;',
	'tiny.js': 'export const tiny = 2;',
};

test('parts that the same starts need lie in one file, small ones in the first', async () => {
	const folder = scratchDirectory();
	const names = (...files: string[]) => files.map(file => join(folder, file));
	const bin = await split(TWO_STARTS, {folder, starts: {left: names('left.js'), right: names('right.js')}});
	const files = readdirSync(join(bin, 'parts'));
	expect(files.filter(file => !file.startsWith('rare-')).sort()).toEqual([
		'left-right.js',
		'left.js',
		'main.js',
		'right.js',
	]);
	expect(files.filter(file => file.startsWith('rare-'))).toHaveLength(1);
	const contents = (file: string) => readFileSync(join(bin, 'parts', file), 'utf8');
	expect(contents('main.js')).toMatch(/tiny=2/);
	expect(contents('left-right.js')).toMatch(/bothboth[^]*allall|allall[^]*bothboth/);
	expect(contents('left.js')).not.toMatch(/allall|bothboth|rightright/);
	const start = (name: string) => execFileSync(process.execPath, [join(bin, 'longarm.js'), name], {encoding: 'utf8'});
	expect([start('left'), start('right'), start('rare')]).toEqual(['1 all,left\n', '1 all,right\n', '1 all,rare,2\n']);
});

test('a part that another version of its file does not have is an error that says so', async () => {
	const folder = scratchDirectory();
	const bin = await split(TWO_STARTS, {folder, starts: {left: [join(folder, 'left.js')]}});
	writeFileSync(join(bin, 'parts/left.js'), '({})');
	const {stderr} = spawnSync(process.execPath, [join(bin, 'longarm.js'), 'left'], {encoding: 'utf8'});
	expect(stderr).toMatch(/left\.js has no left-\w+\.js: another version of the program lies in its place/);
});

const REFUSED: Record<string, {files: Record<string, string>; options?: Record<string, unknown>; reason: RegExp}> = {
	'an import of a module outside the bundle': {
		files: {'main.js': `import outside from 'outside'; console.log(outside);`},
		options: {external: ['outside']},
		reason: /main\.js: Cannot use import statement/,
	},
	'a late import of a module outside the bundle': {
		files: {'main.js': `import('outside').then(console.log);`},
		options: {external: ['outside']},
		reason: /main\.js: an import\(\) that the bundler could not resolve/,
	},
	'a late import of a computed name': {
		files: {'main.js': 'import(process.argv[2]).then(console.log);'},
		reason: /main\.js: an import\(\) that the bundler could not resolve/,
	},
	'an await outside a function': {
		files: {'main.js': 'console.log(await Promise.resolve(1));'},
		reason: /main\.js: .*in what became of it/,
	},
	'a property of import.meta that is not replaced': {
		files: {'main.js': 'console.log(import.meta.dirname);'},
		reason: /main\.js: Cannot use 'import\.meta'/,
	},
	'an expression with characters outside ASCII': {
		files: {'main.js': 'console.log(/[äöü]/.test("x"));'},
		reason: /main\.js: holds characters that are not ASCII/,
	},
	'a variable that is exported and may change': {
		files: {
			'main.js': `import('./late.js').then(({count, raise}) => console.log(raise(), count));`,
			'late.js': 'export let count = 0; export const raise = () => ++count;',
		},
		reason: /late\.js: exports a variable that may change/,
	},
	'a start with a module that no part begins with': {
		files: {'main.js': `import './other.js';`, 'other.js': 'console.log(1)'},
		options: {starts: {first: ['other.js']}},
		reason: /other\.js: no part begins with it/,
	},
	'a string that reads like an import of a part': {
		files: {'main.js': `console.log('import("./late.js")');`},
		reason: /main\.js: text that mentions late\.js was taken for a dynamic import/,
	},
};

for (const [what, {files, options, reason}] of Object.entries(REFUSED)) {
	test(`the build refuses ${what}`, async () => {
		await expect(split(files, options)).rejects.toThrow(reason);
	});
}

test('the build refuses before it writes a part', async () => {
	const outdir = scratchDirectory();
	await expect(
		split({'main.js': `import('./late.js'); console.log(import.meta.dirname);`, 'late.js': 'export {};'}, {outdir}),
	).rejects.toThrow(/import\.meta/);
	expect(readdirSync(outdir)).toEqual([]);
});

test('imports and exports of a module become those of a function', () => {
	const expected = {static: new Set(['a.js', 'b.js']), dynamic: new Set(['c.js'])};
	const text =
		'import{x as $y,z}from"./a.js";import"./b.js";var late=()=>import("./c.js");export{$y as default,z,late as l};\n';
	const source = toFunction('part.js', text, expected);
	expect(source).toBe(
		'(function (require, module, importMetaUrl) {const{x:$y,z}=require("./a.js");require("./b.js");' +
			'var late=()=>Promise.resolve().then(()=>require("./c.js"));module.exports={default:$y,z,l:late};\n})',
	);
});

test('an import that is overlooked is an error', () => {
	expect(() => toFunction('part.js', 'import * as all from "./a.js";', {...NONE, static: new Set(['a.js'])})).toThrow(
		'part.js: the static import of a.js was overlooked',
	);
});

test('names that cannot be members of a literal are an error', () => {
	expect(() => toFunction('part.js', 'var a=1;export{a as "two words"};', NONE)).toThrow(/^part\.js: /);
});
