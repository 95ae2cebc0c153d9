import {spawnSync} from 'node:child_process';
import {cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parse} from 'smol-toml';
import {expect, test} from 'vitest';
import {scratchDirectory} from '../helpers/scratch.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
/** Names that stand for what a reader has already. */
const CONTEXT = 'test/fixtures/docs-context.d.ts';
const PROGRAMS = ['ts', 'js', 'mts', 'mjs', 'cts', 'cjs', 'tsx', 'jsx', 'typescript', 'javascript'];

/** Pages whose programs are not compiled, and why. */
const NOT_COMPILED: Readonly<Record<string, string>> = {
	'docs/api.md': 'declarations that the compiler has written itself, without the names they refer to',
};

interface Block {
	readonly page: string;
	/** Line of its first line in the page, from 1. */
	readonly line: number;
	readonly language: string;
	readonly text: string;
}

const ROOT_PAGES = readdirSync(ROOT).filter(name => name.endsWith('.md') && name !== 'CHANGELOG.md');
const DOCS_PAGES = readdirSync(join(ROOT, 'docs'), {recursive: true, encoding: 'utf8'})
	.filter(name => name.endsWith('.md'))
	.map(name => `docs/${name}`);

function* blocksOf(page: string): Generator<Block> {
	const lines = readFileSync(join(ROOT, page), 'utf8').split('\n');
	for (let index = 0; index < lines.length; index++) {
		const [, fence, language = ''] = /^\s*(`{3,}|~{3,})\s*([\w-]*)/.exec(lines[index]!) ?? [];
		if (fence === undefined) continue;
		const first = index + 1;
		index = lines.findIndex((line, at) => at >= first && line.trim() === fence);
		if (index === -1) throw new Error(`${page}:${first}: the block has no end`);
		yield {page, line: first + 1, language, text: lines.slice(first, index).join('\n')};
	}
}

const BLOCKS = [...ROOT_PAGES, ...DOCS_PAGES, 'llms.txt'].flatMap(page => [...blocksOf(page)]);

/** The block as a module, each line where the page has it. */
function toModule({page, line, text}: Block): string {
	// The page of the protocol shows types by themselves.
	const program = page === 'docs/protocol.md' ? text.replace(/^(params|result): /gm, 'export type $1 = ') : text;
	return `export {};${'\n'.repeat(line - 1)}${program}\n`;
}

/** Writes a project that has the package, and what its documentation tells readers to install. */
function createProject(): string {
	const folder = scratchDirectory();
	mkdirSync(join(folder, 'node_modules/@types'), {recursive: true});
	symlinkSync(ROOT, join(folder, 'node_modules/longarm'));
	for (const name of ['@types/node', '@modelcontextprotocol']) {
		symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
	}
	writeFileSync(join(folder, 'package.json'), JSON.stringify({private: true, type: 'module'}));
	cpSync(join(ROOT, CONTEXT), join(folder, 'context.d.ts'));
	const compilerOptions = {
		strict: true,
		noEmit: true,
		target: 'es2022',
		lib: ['es2022', 'esnext.disposable'],
		types: ['node'],
		module: 'nodenext',
		// The packed package is checked by a test of its own.
		skipLibCheck: true,
	};
	writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({compilerOptions, include: ['**/*.ts']}));
	return folder;
}

test('every program in the documentation compiles, strictly, with the package', () => {
	const folder = createProject();
	const programs = BLOCKS.filter(({page, language}) => PROGRAMS.includes(language) && !(page in NOT_COMPILED));
	for (const block of programs) {
		const file = join(folder, `${block.page.replaceAll('/', '-')}.${block.line}.ts`);
		writeFileSync(file, toModule(block));
	}
	const {stdout} = spawnSync(process.execPath, [TSC, '-p', '.', '--pretty', 'false'], {cwd: folder, encoding: 'utf8'});
	expect(stdout).toBe('');
	expect(programs.length).toBeGreaterThan(50);
});

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {toml: parse, json: JSON.parse};
const DATA = BLOCKS.filter(({language}) => language in PARSERS);

test.each(DATA)('the $language of $page, line $line, can be read', ({language, text}) => {
	expect(() => PARSERS[language]!(text)).not.toThrow();
});
