// Builds the library (tsc, one file per module) and the command (esbuild, few files and their compiled form: it loads in
// a tenth of the time).
import {spawnSync} from 'node:child_process';
import {chmodSync, copyFileSync, rmSync, writeFileSync} from 'node:fs';
import {basename} from 'node:path';
import {build} from 'esbuild';
import {buildConsole} from './lib/build-console.mjs';
import {keepCompiled} from './lib/keep-compiled.mjs';
import {lazyBuiltins} from './lib/lazy-builtins.mjs';
import {writePortableTypes} from './lib/portable-types.mjs';
import {splitProgram} from './lib/split-program.mjs';

/** Modules that the starts load that people wait for, besides those that every start loads. */
const STARTS = {
	client: [
		'src/cli/commands/run/run-command.ts',
		'src/cli/commands/ls/ls-command.ts',
		'src/environments/local/local-backend.ts',
		'src/environments/local/local-files.ts',
	],
	server: [
		'src/cli/commands/serve/serve-command.ts',
		'src/transports/node/listener.ts',
		'src/cli/commands/serve/create-server.ts',
	],
};

process.chdir(new URL('..', import.meta.url).pathname);
// The command trusts compiled code beside it only where others cannot write.
process.umask(0o022);
rmSync('dist', {recursive: true, force: true});

const {status} = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
	stdio: 'inherit',
});
if (status !== 0) process.exit(status ?? 1);
writePortableTypes('dist');

const options = {
	bundle: true,
	platform: 'node',
	target: 'node20',
	// Native modules stay outside: each brings its own prebuilt binary.
	external: ['koffi', '@lydell/node-pty', 'utf-8-validate', '@nats-io/*'],
	plugins: [lazyBuiltins],
	define: {'import.meta.url': 'importMetaUrl'},
	legalComments: 'none',
	logLevel: 'warning',
};
await buildConsole('dist/console/assets');
await splitProgram({...options, entry: 'src/cli/main.ts', outdir: 'dist/bin/parts', starts: STARTS});
const workers = {
	...options,
	entryPoints: {
		'search-worker': 'src/filesystem/search/search-worker.ts',
		'pattern-worker': 'src/processes/wait/pattern-worker.ts',
		'schema-worker': 'src/jobs/engine/schema-worker.ts',
		'handshake-worker': 'src/transports/node/relay/threads/handshake-worker.ts',
	},
	outdir: 'dist/bin',
	format: 'cjs',
};
await build({
	...workers,
	banner: {js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;"},
});
await writeWorkerCode(workers);
writeFileSync('dist/bin/package.json', '{"type": "commonjs"}\n');
copyFileSync('scripts/launcher.cjs', 'dist/bin/longarm.js');
copyFileSync('scripts/keep-compiled.cjs', 'dist/bin/keep-compiled.js');
chmodSync('dist/bin/longarm.js', 0o755);
await keepCompiled();

/** The worker threads as text, for programs that are bundled: see `startWorker`. */
async function writeWorkerCode(entries) {
	const {outputFiles} = await build({...entries, minify: true, write: false});
	const code = Object.fromEntries(outputFiles.map(({path, text}) => [basename(path), text]));
	writeFileSync('dist/shared/node/worker-code.js', `export const WORKER_CODE = ${JSON.stringify(code)};\n`);
}
