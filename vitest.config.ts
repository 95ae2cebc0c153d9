import {existsSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {defineConfig, type Plugin} from 'vitest/config';

const SOURCE = fileURLToPath(new URL('src/', import.meta.url));
const BUILT = fileURLToPath(new URL('dist/', import.meta.url));

export default defineConfig({
	plugins: process.env['LONGARM_TEST_BUILT'] === '1' ? [builtSource()] : [],
	test: {
		include: ['test/**/*.test.ts'],
		globalSetup: ['test/support/clean-environment.ts'],
		reporters: ['default', './scripts/lib/skip-reporter.mjs'],
		// SIGCHLD does not reach worker threads: real children need a process of their own.
		pool: 'forks',
		maxWorkers: '100%',
		// Ten times what the longest test takes: only one that hangs gets there, on a busy machine too.
		testTimeout: 120_000,
		hookTimeout: 120_000,
		server: {deps: {external: [/\/dist\//]}},
	},
});

/**
 * Imports modules of src/ from the build, through Node's own loader. Transforming several hundred modules for each of the test
 * files takes longer than the tests.
 */
function builtSource(): Plugin {
	return {
		name: 'built-source',
		enforce: 'pre',
		resolveId(specifier, importer) {
			if (importer === undefined || !specifier.startsWith('.')) return undefined;
			const path = resolve(dirname(importer), specifier);
			if (!path.startsWith(SOURCE)) return undefined;
			const built = join(BUILT, path.slice(SOURCE.length));
			return existsSync(built) ? built : undefined;
		},
	};
}
