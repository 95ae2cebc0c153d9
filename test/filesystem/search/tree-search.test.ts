import {chmodSync, mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, test} from 'vitest';
import {bytePath, toDisplayText} from '../../../src/filesystem/byte-path.js';
import type {SearchRequest} from '../../../src/filesystem/search/query.js';
import {searchTree} from '../../../src/filesystem/search/tree-search.js';
import {isRoot, unless} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const ALL = {names: [], exclude: [], contents: undefined, hidden: false, ignoreFiles: true, maxMatches: 1000};

function treeOf(files: Record<string, string | Buffer>): string {
	const root = scratchDirectory();
	for (const [name, content] of Object.entries(files)) {
		mkdirSync(dirname(join(root, name)), {recursive: true});
		writeFileSync(join(root, name), content);
	}
	return root;
}

/** Directories end with a slash, lines with their number. */
function found(root: string, query: Partial<Omit<SearchRequest, 'root'>> = {}): string[] {
	return [...searchTree({...ALL, root: bytePath(root), ...query})].flatMap(finding => {
		if (finding.kind === 'file') return [];
		const name = toDisplayText(finding.path).slice(root.length + 1);
		if (finding.kind === 'entry') return [finding.isDirectory ? `${name}/` : name];
		return [finding.kind === 'line' ? `${name}:${finding.match.line}` : `${name}: ${finding.message}`];
	});
}

const contents = (pattern: string, more = {}) => ({contents: {pattern, regex: false, ignoreCase: false, ...more}});

test('names are matched by glob, with a slash as a path and without one anywhere', () => {
	const root = treeOf({'a.ts': '', 'src/b.ts': '', 'src/deep/c.ts': '', 'src/d.js': ''});
	expect(found(root, {names: ['*.ts']})).toEqual(['a.ts', 'src/b.ts', 'src/deep/c.ts']);
	expect(found(root, {names: ['src/*.ts', 'deep']})).toEqual(['src/b.ts', 'src/deep/']);
	expect(found(root, {names: ['**/deep/*']})).toEqual(['src/deep/c.ts']);
	expect(found(root)).toEqual(['a.ts', 'src/', 'src/b.ts', 'src/d.js', 'src/deep/', 'src/deep/c.ts']);
});

test('contents are looked for in the files with the right names, line by line', () => {
	const root = treeOf({'a.ts': 'one\ntwo\nTWO', 'b.js': 'two', 'c.ts': 'none'});
	expect(found(root, {names: ['*.ts'], ...contents('two')})).toEqual(['a.ts:2']);
	expect(found(root, contents('two', {ignoreCase: true}))).toEqual(['a.ts:2', 'a.ts:3', 'b.js:1']);
	expect(found(root, contents('^t.o$', {regex: true}))).toEqual(['a.ts:2', 'b.js:1']);
});

test('ignore files are respected as far down as they reach, the nearest first, unless told otherwise', () => {
	const root = treeOf({
		'.gitignore': '*.log\nbuild/\n',
		'x.log': 'needle',
		'build/out': 'needle',
		'sub/.ignore': '!keep.log\nsecret\n',
		'sub/keep.log': 'needle',
		'sub/other.log': 'needle',
		'sub/secret': 'needle',
		plain: 'needle',
	});
	expect(found(root, contents('needle'))).toEqual(['plain:1', 'sub/keep.log:1']);
	expect(found(root, {...contents('needle'), ignoreFiles: false})).toHaveLength(6);
});

test('the rules of the repository around the root count too', () => {
	const root = treeOf({'.git/HEAD': '', '.gitignore': 'ignored\n', 'sub/ignored': '', 'sub/seen': ''});
	expect(found(join(root, 'sub'))).toEqual(['seen']);
});

test('hidden files and the inside of a repository are left out unless asked for', () => {
	const root = treeOf({'.hidden': 'needle', '.git/config': 'needle', seen: 'needle'});
	expect(found(root, contents('needle'))).toEqual(['seen:1']);
	expect(found(root, {...contents('needle'), hidden: true})).toEqual(['.hidden:1', 'seen:1']);
	expect(found(root, {...contents('needle'), hidden: true, ignoreFiles: false})).toContain('.git/config:1');
});

test('what is excluded is left out in the language of .gitignore', () => {
	const root = treeOf({'a/x': '', 'a/y': '', 'b/x': ''});
	expect(found(root, {exclude: ['a/', '!a/x']})).toEqual(['b/', 'b/x']);
});

test('a file that is no text is not searched, a long one to its end', () => {
	const long = `${'x'.repeat(100)}\n`.repeat(30_000);
	const root = treeOf({
		binary: Buffer.from('needle\0needle'),
		long: `${long}needle\n`,
		oneLine: 'y'.repeat(20_000_000) + 'needle',
	});
	expect(found(root, contents('needle'))).toEqual(['long:30001', 'oneLine:1']);
});

test('links are neither followed nor searched', () => {
	const root = treeOf({'real/file': 'needle'});
	symlinkSync('real', join(root, 'link'));
	symlinkSync('real/file', join(root, 'fileLink'));
	expect(found(root, contents('needle'))).toEqual(['real/file:1']);
});

test('a single file can be searched, whatever its name', () => {
	const root = treeOf({'.gitignore': '*', '.secret': 'needle'});
	expect(found(join(root, '.secret'), contents('needle'))).toEqual([':1']);
});

test(
	'what cannot be read is an error and nothing else suffers',
	unless(isRoot ? 'root can read everything' : undefined),
	() => {
		const root = treeOf({'closed/file': 'needle', open: 'needle'});
		chmodSync(join(root, 'closed'), 0);
		expect(found(root, contents('needle'))).toEqual(['closed: Permission denied (os error 13)', 'open:1']);
	},
);
