import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const STRICT = {
	strict: true,
	exactOptionalPropertyTypes: true,
	noUncheckedIndexedAccess: true,
	noImplicitOverride: true,
	isolatedModules: true,
	verbatimModuleSyntax: true,
	// Declarations of the package are checked too.
	skipLibCheck: false,
	noEmit: true,
	target: 'es2022',
};

export interface Manifest {
	readonly version: string;
	readonly exports: Readonly<Record<string, string | {readonly types: string; readonly default: string}>>;
	readonly dependencies: Readonly<Record<string, string>>;
}

/**
 * An empty project in which the package is installed as npm would, from its tarball. Its runtime dependencies are links to
 * ours, so that no network is needed; our development dependencies are not there.
 */
export class PackedProject {
	readonly folder: string;
	readonly installed: string;
	readonly manifest: Manifest;

	/** Packs the build that is in `dist`. */
	static async create(): Promise<PackedProject> {
		const folder = mkdtempSync(join(tmpdir(), 'longarm-packed-'));
		const flags = ['--ignore-scripts', '--silent', '--cache', join(folder, 'cache'), '--pack-destination', folder];
		const {stdout} = await execute('npm', ['pack', ...flags], {cwd: ROOT});
		await execute('tar', ['-xzf', join(folder, stdout.trim()), '-C', folder]);
		return new PackedProject(folder);
	}

	private constructor(folder: string) {
		this.folder = folder;
		this.installed = join(folder, 'node_modules/longarm');
		mkdirSync(dirname(this.installed));
		renameSync(join(folder, 'package'), this.installed);
		this.manifest = JSON.parse(readFileSync(join(this.installed, 'package.json'), 'utf8')) as Manifest;
		for (const name of Object.keys(this.manifest.dependencies)) this.link(name);
		this.write('package.json', JSON.stringify({private: true, type: 'module'}));
	}

	/** Links one of our packages into the project. */
	link(name: string): void {
		const place = join(this.folder, 'node_modules', name);
		mkdirSync(dirname(place), {recursive: true});
		symlinkSync(join(ROOT, 'node_modules', name), place);
	}

	/** The names a program imports: `longarm`, `longarm/client`, ... */
	entries(): string[] {
		const paths = Object.keys(this.manifest.exports).filter(path => path !== './package.json');
		return paths.map(path => path.replace('.', 'longarm'));
	}

	write(name: string, text: string): string {
		const path = join(this.folder, name);
		writeFileSync(path, text);
		return path;
	}

	/** What the compiler says about these files; nothing if all is well. */
	async compile(files: readonly string[], options: object): Promise<string> {
		const config = this.write('tsconfig.json', JSON.stringify({compilerOptions: {...STRICT, ...options}, files}));
		try {
			await execute(process.execPath, [TSC, '-p', config]);
			return '';
		} catch (error) {
			return (error as {stdout: string}).stdout;
		}
	}

	/** Runs a program of the project. */
	run(...args: string[]): Promise<{stdout: string; stderr: string}> {
		return execute(process.execPath, args, {cwd: this.folder});
	}

	remove(): void {
		rmSync(this.folder, {recursive: true, force: true});
	}
}
