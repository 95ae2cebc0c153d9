import {defineConfig} from 'vitest/config';

export default defineConfig({
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
	},
});
