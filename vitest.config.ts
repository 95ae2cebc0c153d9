import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {defineConfig, type Plugin} from 'vitest/config';
import {BaseSequencer, type TestSpecification} from 'vitest/node';

const SOURCE = fileURLToPath(new URL('src/', import.meta.url));
const BUILT = fileURLToPath(new URL('dist/', import.meta.url));

/** Files that take longest. They start first, so that none of them is left for the end, when only one worker has work. */
const SLOW_FILES = [
	'test/package/packed',
	'test/package/idle-exit',
	'test/sandbox/variants-peers',
	'test/cli/copy-resume',
	'test/server/control',
	'test/cli/vanished-peer',
	'test/client/files/copy/unfinished-tree',
	'test/sandbox/escapes',
	'test/server/sandbox-files',
	'test/client/files/contract',
	'test/cli/keeper',
	'test/scripts/parts',
	'test/client/contract',
	'test/protocol/wire/strict-json',
	'test/walk/walk',
	'test/jobs/jobs-kills',
	'test/hub/contract-on-nats',
	'test/hub/malicious-relay',
	'test/cli/serve-upgrade',
];

class SlowFilesFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const sorted = await super.sort(files);
		return [...sorted.filter(isSlow), ...sorted.filter(file => !isSlow(file))];
	}
}

function isSlow({moduleId}: TestSpecification): boolean {
	return SLOW_FILES.some(name => moduleId.includes(`${name}.test.`));
}

/** Tests that replace modules of src/, which only works for modules that vitest loads. */
const MOCKING_FILES = readdirSync('test', {recursive: true, encoding: 'utf8'})
	.map(name => join('test', name))
	.filter(file => file.endsWith('.test.ts') && /\bvi\.(?:mock|doMock|resetModules)\(/.test(readFileSync(file, 'utf8')));

export default defineConfig({
	test: {
		globalSetup: ['test/support/clean-environment.ts'],
		reporters: ['default', './scripts/lib/skip-reporter.mjs'],
		// SIGCHLD does not reach worker threads: real children need a process of their own.
		pool: 'forks',
		// Tests wait for processes, sockets and timers for about half of their time.
		maxWorkers: 2 * availableParallelism(),
		sequence: {sequencer: SlowFilesFirst},
		// Ten times what the longest test takes: only one that hangs gets there, on a busy machine too.
		testTimeout: 120_000,
		hookTimeout: 120_000,
		server: {deps: {external: [/\/dist\//]}},
		projects: [
			{
				extends: true,
				plugins: process.env['LONGARM_TEST_BUILT'] === '1' ? [builtSource()] : [],
				test: {name: 'tests', include: ['test/**/*.test.ts'], exclude: MOCKING_FILES},
			},
			{extends: true, test: {name: 'tests with mocks', include: MOCKING_FILES}},
		],
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
