// A copy of the built command for tests that change its files.
import {execFile} from 'node:child_process';
import {cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {scratchDirectory} from '../helpers/scratch.js';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const BUILT = join(ROOT, 'dist/bin');
/** Ending of the caches of this version of Node. */
export const CACHE = `.${process.version}-${process.arch}.cache`;
const LOAD_PARTS = fileURLToPath(new URL('load-parts.cjs', import.meta.url));
const execute = promisify(execFile);

export interface Loaded {
	readonly exports: readonly string[];
	readonly taken: number;
	readonly rejected: number;
}

/** A copy of the built command, whose caches may be changed. */
export class ProgramCopy {
	readonly folder = scratchDirectory();
	readonly launcher = join(this.folder, 'bin/longarm.js');
	readonly parts = join(this.folder, 'bin/parts');

	constructor() {
		if (!existsSync(BUILT)) throw new Error(`${BUILT} is missing: npm run build`);
		cpSync(BUILT, join(this.folder, 'bin'), {recursive: true});
		symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
	}

	changeCaches(change: (cache: Buffer, source: string) => Buffer): void {
		for (const name of this.cacheNames()) {
			const source = readFileSync(join(this.parts, name.slice(0, -CACHE.length)), 'latin1');
			const path = join(this.parts, name);
			writeFileSync(path, change(readFileSync(path), source));
		}
	}

	removeCaches(): void {
		for (const name of this.cacheNames()) rmSync(join(this.parts, name));
	}

	cacheNames(): string[] {
		return readdirSync(this.parts).filter(name => name.endsWith(CACHE));
	}

	async version(...flags: string[]): Promise<string> {
		const {stdout} = await this.run([...flags, this.launcher, '--version']);
		return stdout.trim();
	}

	/** Loads every part but the first, which is gone afterwards. */
	async load(way: 'together' | 'alone', ...flags: string[]): Promise<Map<string, Loaded>> {
		const {stdout, stderr} = await this.run([...flags, LOAD_PARTS, this.launcher, way]);
		if (stderr) throw new Error(stderr);
		return new Map(Object.entries(JSON.parse(stdout) as Record<string, Loaded>));
	}

	run(args: string[]): Promise<{stdout: string; stderr: string}> {
		return execute(process.execPath, args, {env: {PATH: process.env['PATH']}, maxBuffer: 16 * 1024 * 1024});
	}
}
