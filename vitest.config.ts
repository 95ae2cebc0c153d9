import {defineConfig} from 'vitest/config';

export default defineConfig({
	test: {
		include: ['test/**/*.test.ts'],
		// SIGCHLD does not reach worker threads: real children need a process of their own.
		pool: 'forks',
		maxWorkers: '100%',
		testTimeout: 30_000,
		hookTimeout: 30_000,
	},
});
