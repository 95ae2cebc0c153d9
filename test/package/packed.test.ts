import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {PackedProject} from '../helpers/packed-project.js';

/** What a page loads for `longarm/client`, minified and compressed. */
const MAX_CLIENT_BUNDLE_GZIP_BYTES = 76 * 1024;
/** Entries without any need of Node, or of its types. */
const BROWSER_ENTRIES = ['longarm/client', 'longarm/agent-tools', 'longarm/protocol'];

const MODULES = [{module: 'nodenext'}, {module: 'esnext', moduleResolution: 'bundler'}];
const NODE = {lib: ['es2022'], types: ['node']};
const BROWSER = {lib: ['es2022', 'dom'], types: []};

const THREE_LINES = `
import {Environment} from 'longarm';
await using machine = Environment.local();
console.log((await machine.run(['echo', 'hello'])).stdout.toString());
`;

let project: PackedProject;

beforeAll(async () => {
	project = await PackedProject.create();
	project.link('@types/node');
});

afterAll(() => project.remove());

function importAll(entries: readonly string[]): string {
	const imports = entries.map((entry, index) => `import * as entry${index} from '${entry}';`);
	return `${imports.join('\n')}\nconsole.log(${entries.map((_, index) => `entry${index}`).join(', ')});\n`;
}

test('every file that package.json names is in the package', () => {
	const files = Object.values(project.manifest.exports).flatMap(target =>
		typeof target === 'string' ? target : Object.values(target),
	);
	expect(files.length).toBeGreaterThan(10);
	expect(files.filter(file => !existsSync(join(project.installed, file)))).toEqual([]);
});

test('every page that llms.txt names is in the package', () => {
	const index = readFileSync(join(project.installed, 'llms.txt'), 'utf8');
	const pages = [...index.matchAll(/\]\((.+?)\)/g)].map(match => match[1]!);
	expect(pages.length).toBeGreaterThan(10);
	expect(pages.filter(page => !existsSync(join(project.installed, page)))).toEqual([]);
});

test('source maps of the package hold the sources, which are not in it', () => {
	const map = JSON.parse(readFileSync(join(project.installed, 'dist/client/index.js.map'), 'utf8')) as {
		sourcesContent?: readonly (string | null)[];
	};
	expect(map.sourcesContent).toEqual([expect.stringContaining('SessionClient')]);
});

test.each(MODULES)('a strict program for Node compiles with the package and %o', async options => {
	project.write('three-lines.mts', THREE_LINES);
	project.write('all-entries.mts', importAll(project.entries()));
	const files = ['three-lines.mts', 'all-entries.mts'];
	expect(await project.compile(files, {...options, ...NODE})).toBe('');
});

test('a strict CommonJS program compiles with the package', async () => {
	project.write('common.cts', `import longarm = require('longarm');\nconsole.log(longarm.Environment.local().id);\n`);
	expect(await project.compile(['common.cts'], {module: 'nodenext', ...NODE})).toBe('');
});

test.each(MODULES)(
	'a strict program without types of Node compiles with the entries for browsers and %o',
	async options => {
		project.write('page.mts', importAll(BROWSER_ENTRIES));
		expect(await project.compile(['page.mts'], {...options, ...BROWSER})).toBe('');
	},
);

test('a program of the project imports every entry, and requires it with the same names', async () => {
	const names = (load: string) =>
		`const entries = ${JSON.stringify(project.entries())};
		(async () => {
			const names = [];
			for (const entry of entries) names.push([entry, Object.keys(${load}).filter(name => name !== '__esModule')]);
			console.log(JSON.stringify(names));
		})();`;
	const imported = await project.run(project.write('names.mjs', names('await import(entry)')));
	const required = await project.run(project.write('names.cjs', names('require(entry)')));
	expect(imported.stderr).toBe('');
	expect(required).toEqual(imported);
	const found = JSON.parse(imported.stdout) as [string, string[]][];
	expect(found.map(([entry]) => entry)).toEqual(project.entries());
	expect(found.filter(([, members]) => members.length === 0)).toEqual([]);
});

test.each([
	['first.mjs', `import {Environment} from 'longarm';`],
	['first.cjs', `const {Environment} = require('longarm');`],
])('%s runs a command', async (name, load) => {
	const script = project.write(
		name,
		`${load}
		const machine = Environment.local();
		machine.run(['echo', 'hello'])
			.then(({stdout}) => console.log(stdout.toString()))
			.finally(() => machine.close());`,
	);
	expect(await project.run(script)).toEqual({stdout: 'hello\n\n', stderr: ''});
});

test('the command of the package runs', async () => {
	const {stdout} = await project.run(join(project.installed, 'dist/bin/longarm.js'), '--version');
	expect(stdout).toContain(project.manifest.version);
});

test.each(BROWSER_ENTRIES)('%s is bundled for a browser without a word of warning', async entry => {
	const outfile = join(project.folder, 'bundle.mjs');
	const {warnings, metafile} = await build({
		stdin: {contents: `export * from '${entry}';`, resolveDir: project.folder},
		bundle: true,
		minify: true,
		sourcemap: 'external',
		format: 'esm',
		platform: 'browser',
		metafile: true,
		logLevel: 'silent',
		outfile,
	});
	expect(warnings).toEqual([]);
	expect(Object.values(metafile.outputs).flatMap(({imports}) => imports)).toEqual([]);
});

test('the client is small on a page', async context => {
	const {outputFiles} = await build({
		stdin: {contents: `export * from 'longarm/client';`, resolveDir: project.folder},
		bundle: true,
		minify: true,
		format: 'esm',
		platform: 'browser',
		write: false,
	});
	const bytes = outputFiles[0]!.contents;
	const compressed = gzipSync(bytes).length;
	await context.annotate(`longarm/client: ${bytes.length} bytes minified, ${compressed} with gzip`);
	expect(compressed).toBeLessThan(MAX_CLIENT_BUNDLE_GZIP_BYTES);
});
