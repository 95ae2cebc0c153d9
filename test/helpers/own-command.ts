import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the command of this very source, so that a server under test can start another like itself; to be removed. */
export async function ownCommand(): Promise<{readonly command: readonly string[]; readonly remove: () => void}> {
	const cache = join(PACKAGE, 'node_modules/.cache');
	mkdirSync(cache, {recursive: true});
	const outdir = mkdtempSync(join(cache, 'longarm-'));
	const require = `import {createRequire as make} from 'node:module'; const require = make(import.meta.url);`;
	await build({
		absWorkingDir: PACKAGE,
		entryPoints: {
			longarm: 'src/cli/main.ts',
			'search-worker': 'src/filesystem/search/search-worker.ts',
			'pattern-worker': 'src/processes/wait/pattern-worker.ts',
			'handshake-worker': 'src/transports/node/relay/threads/handshake-worker.ts',
		},
		outdir,
		bundle: true,
		splitting: true,
		platform: 'node',
		target: 'node20',
		format: 'esm',
		external: ['koffi', '@lydell/node-pty', 'bufferutil', 'utf-8-validate'],
		banner: {js: require},
		logLevel: 'error',
	});
	return {
		command: [process.execPath, join(outdir, 'longarm.js')],
		remove: () => rmSync(outdir, {recursive: true, force: true}),
	};
}
