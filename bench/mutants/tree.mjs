import {spawnSync} from 'node:child_process';
import {cpSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {scratchFolder} from '../../scripts/lib/scratch-folder.mjs';
import {runIsolated} from './isolate.mjs';
import {SETUP} from './probes.mjs';

const NOT_COPIED = new Set(['node_modules', '.git', 'coverage']);
/** Where a tree keeps what is ours: configurations, reports, what was reached. */
export const OWN = '.mutants';
const BUILD_LIMIT_MS = 180_000;

/** A copy of the package to change and to test, removed when the program exits; the original is only read. */
export class Tree {
	#package;
	#home;
	path;

	constructor(packagePath) {
		this.#package = packagePath;
		this.#home = scratchFolder('mutants');
		this.path = join(this.#home, 'tree');
		cpSync(packagePath, this.path, {
			recursive: true,
			filter: source => !NOT_COPIED.has(relative(packagePath, source)),
		});
		mkdirSync(join(this.path, OWN));
		mkdirSync(join(this.path, 'node_modules'));
		this.write(join(OWN, 'reached.mjs'), SETUP);
		this.write(join(OWN, 'plain.config.mjs'), configuration([]));
		this.write(join(OWN, 'probed.config.mjs'), configuration([join(this.path, OWN, 'reached.mjs')]));
	}

	read(file) {
		return readFileSync(join(this.path, file), 'utf8');
	}

	write(file, text) {
		writeFileSync(join(this.path, file), text);
	}

	/** Puts the file of the package back. */
	restore(file) {
		this.write(file, readFileSync(join(this.#package, file), 'utf8'));
	}

	/** Makes `dist` of the source as it is now; false when it cannot be made. */
	async build() {
		const {code} = await this.run([process.execPath, 'scripts/build.mjs'], BUILD_LIMIT_MS);
		return code === 0;
	}

	/** Whether the types of the source as it is now are right. */
	async areTypesRight() {
		const tsc = [process.execPath, 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--noEmit'];
		return (await this.run(tsc, BUILD_LIMIT_MS)).code === 0;
	}

	run(argv, limitMs) {
		return runIsolated(argv, {home: this.#home, tree: this.path, packagePath: this.#package, limitMs});
	}
}

/** The commit a result belongs to. */
export function versionOf(packagePath) {
	return spawnSync('git', ['rev-parse', '--short', 'HEAD'], {cwd: packagePath, encoding: 'utf8'}).stdout.trim();
}

function configuration(setupFiles) {
	return `import {mergeConfig} from 'vitest/config';
import base from '../vitest.config.ts';

export default mergeConfig(base, {
	cacheDir: '${OWN}/cache',
	test: {setupFiles: ${JSON.stringify(setupFiles)}, maxWorkers: 2, experimental: {fsModuleCache: true}},
});
`;
}
