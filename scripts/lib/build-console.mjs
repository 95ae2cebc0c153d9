// Bundles the pages of the web console into compressed files with digests in their names. Nothing of them comes from
// another host.
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';

const SOURCE = 'src/console/page';

/** Writes the files to `outdir`; settles with their names and sizes. */
export async function buildConsole(outdir) {
	const {outputFiles, metafile} = await build({
		entryPoints: {console: join(SOURCE, 'main.tsx')},
		outdir,
		bundle: true,
		splitting: true,
		format: 'esm',
		platform: 'browser',
		target: ['chrome120', 'firefox120', 'safari17'],
		jsx: 'automatic',
		jsxImportSource: 'preact',
		minify: true,
		write: false,
		metafile: true,
		entryNames: '[name]-[hash]',
		chunkNames: 'part-[hash]',
		legalComments: 'none',
		logLevel: 'warning',
	});
	mkdirSync(outdir, {recursive: true});
	const names = outputFiles.map(({path}) => basename(path));
	const script = names.find(name => /^console-.*\.js$/.test(name));
	const page = readFileSync(join(SOURCE, 'index.html'), 'utf8')
		.replace('{{preload}}', preloads(metafile, script))
		.replace(
			'{{script}}',
			names.find(name => /^console-.*\.js$/.test(name)),
		)
		.replace(
			'{{style}}',
			names.find(name => /^console-.*\.css$/.test(name)),
		);
	const files = [
		...outputFiles.map(({path, contents}) => ({name: basename(path), content: contents})),
		{name: 'index.html', content: page},
		{name: 'icon.svg', content: readFileSync(join(SOURCE, 'icon.svg'))},
	];
	return files.map(({name, content}) => {
		const compressed = gzipSync(content, {level: 9});
		writeFileSync(join(outdir, `${name}.gz`), compressed);
		return {name, bytes: content.length, compressedBytes: compressed.length};
	});
}

/** The parts that the first one imports, so that the browser asks for all of them at once. */
function preloads({outputs}, script) {
	const [, entry] = Object.entries(outputs).find(([path]) => basename(path) === script);
	const parts = new Set();
	const visit = ({imports}) => {
		for (const {path, kind} of imports) {
			if (kind !== 'import-statement' || parts.has(path) || !outputs[path]) continue;
			parts.add(path);
			visit(outputs[path]);
		}
	};
	visit(entry);
	return [...parts].map(path => `<link rel="modulepreload" href="${basename(path)}" />`).join('\n\t\t');
}
