// Builds the library (tsc, one file per module) and the command (esbuild, one file: it loads in a tenth of the time).
import {spawnSync} from 'node:child_process';
import {chmodSync, rmSync} from 'node:fs';
import {build} from 'esbuild';

process.chdir(new URL('..', import.meta.url).pathname);
rmSync('dist', {recursive: true, force: true});

const {status} = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
	stdio: 'inherit',
});
if (status !== 0) process.exit(status ?? 1);

await build({
	// What a command does not need is in files of its own and only read when it is used.
	entryPoints: {longarm: 'src/cli/main.ts', 'search-worker': 'src/filesystem/search/search-worker.ts'},
	outdir: 'dist/bin',
	splitting: true,
	bundle: true,
	platform: 'node',
	target: 'node20',
	format: 'esm',
	// Native modules stay outside: each brings its own prebuilt binary.
	external: ['koffi', '@lydell/node-pty', 'bufferutil', 'utf-8-validate'],
	banner: {
		js: "import {createRequire as longarmCreateRequire} from 'node:module';\nconst require = longarmCreateRequire(import.meta.url);",
	},
	minifySyntax: true,
	legalComments: 'none',
	logLevel: 'warning',
});
chmodSync('dist/bin/longarm.js', 0o755);
