// Builds the library (tsc, one file per module) and the command (esbuild, one file and its compiled form: it loads in a
// tenth of the time).
import {spawnSync} from 'node:child_process';
import {chmodSync, copyFileSync, rmSync, writeFileSync} from 'node:fs';
import {build} from 'esbuild';

process.chdir(new URL('..', import.meta.url).pathname);
rmSync('dist', {recursive: true, force: true});

const {status} = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
	stdio: 'inherit',
});
if (status !== 0) process.exit(status ?? 1);

// The command is one file in the older module format, which loads sooner; what it does not need it does not run.
await build({
	entryPoints: {program: 'src/cli/main.ts', 'search-worker': 'src/filesystem/search/search-worker.ts'},
	outdir: 'dist/bin',
	bundle: true,
	platform: 'node',
	target: 'node20',
	format: 'cjs',
	// Native modules stay outside: each brings its own prebuilt binary.
	external: ['koffi', '@lydell/node-pty', 'bufferutil', 'utf-8-validate'],
	define: {'import.meta.url': 'importMetaUrl'},
	banner: {js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;"},
	supported: {'dynamic-import': false},
	minifySyntax: true,
	minifyWhitespace: true,
	legalComments: 'none',
	logLevel: 'warning',
});
writeFileSync('dist/bin/package.json', '{"type": "commonjs"}\n');
copyFileSync('scripts/launcher.cjs', 'dist/bin/longarm.js');
chmodSync('dist/bin/longarm.js', 0o755);
// Without it everything works, a little later.
spawnSync(process.execPath, ['scripts/write-code-cache.cjs'], {
	stdio: ['ignore', 'inherit', 'inherit'],
	timeout: 30_000,
});
