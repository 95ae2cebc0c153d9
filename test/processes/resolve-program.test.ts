import {chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, describe, expect, test} from 'vitest';
import {DEFAULT_PATH, resolveProgram} from '../../src/processes/resolve-program.js';

const root = mkdtempSync(join(tmpdir(), 'longarm-resolve-'));
afterAll(() => rmSync(root, {recursive: true, force: true}));

/** A directory of its own with these files in it, by name and mode. */
function directory(name: string, files: Record<string, number> = {}): string {
	const path = join(root, name);
	mkdirSync(path, {recursive: true});
	for (const [file, mode] of Object.entries(files)) {
		writeFileSync(join(path, file), '');
		chmodSync(join(path, file), mode);
	}
	return path;
}

const cwd = directory('cwd', {here: 0o755});
const first = directory('first', {tool: 0o755, locked: 0o644, both: 0o644});
const second = directory('second', {tool: 0o755, both: 0o755, later: 0o755});
mkdirSync(join(first, 'later'));
symlinkSync(join(second, 'later'), join(first, 'linked'));
symlinkSync('nowhere', join(first, 'dangling'));

function resolve(program: string, path: string | undefined, from = Buffer.from(cwd)): string {
	return resolveProgram(program, path, from);
}

function refusal(error: 'ENOENT' | 'EACCES', program: string): object {
	const texts = {ENOENT: 'No such file or directory (os error 2)', EACCES: 'Permission denied (os error 13)'};
	return expect.objectContaining({code: 'SPAWN_FAILED', message: texts[error], context: {program, error}}) as object;
}

describe('a program without a slash', () => {
	test('is the first executable file along the PATH of the child', () => {
		expect(resolve('tool', `${first}:${second}`)).toBe(`${first}/tool`);
		expect(resolve('tool', `${second}:${first}`)).toBe(`${second}/tool`);
		expect(resolve('linked', first)).toBe(`${first}/linked`);
	});

	test('is looked for past directories of that name and files that may not be executed', () => {
		expect(resolve('later', `${first}:${second}`)).toBe(`${second}/later`);
		expect(resolve('both', `${first}:${second}`)).toBe(`${second}/both`);
	});

	test('is looked for past entries that are missing, files, or too long', () => {
		const path = [join(root, 'missing'), join(first, 'tool'), `/${'x'.repeat(300)}`, second];
		expect(resolve('tool', path.join(':'))).toBe(`${second}/tool`);
	});

	test('is looked for in the default places if the child has no PATH', () => {
		expect(DEFAULT_PATH.split(':').map(entry => `${entry}/sh`)).toContain(resolve('sh', undefined));
	});

	test('is looked for in the working directory of the child where the PATH is empty', () => {
		expect(resolve('here', '')).toBe('./here');
		expect(resolve('here', `${first}:`)).toBe('./here');
		expect(resolve('here', `:${first}`)).toBe('./here');
		expect(resolve('here', `${first}::${second}`)).toBe('./here');
	});

	test('is looked for in relative entries from the working directory of the child', () => {
		expect(resolve('tool', 'missing:../first')).toBe('../first/tool');
		expect(resolve('tool', 'first', Buffer.from(root))).toBe('first/tool');
	});

	test('is found from a working directory that is not UTF-8', () => {
		const odd = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]);
		mkdirSync(odd);
		writeFileSync(Buffer.concat([odd, Buffer.from('/odd-tool')]), '', {mode: 0o755});
		expect(resolve('odd-tool', '.', odd)).toBe('./odd-tool');
	});
});

describe('what cannot be found', () => {
	test('is missing when there is no such file, only a directory or a dead link', () => {
		for (const program of ['absent', 'dangling']) {
			expect(() => resolve(program, `${first}:${second}`)).toThrow(refusal('ENOENT', program));
		}
		expect(() => resolve('later', first)).toThrow(refusal('ENOENT', 'later'));
		expect(() => resolve('tool', join(first, 'tool'))).toThrow(refusal('ENOENT', 'tool'));
	});

	test('is forbidden when there was a file that may not be executed, wherever along the PATH', () => {
		expect(() => resolve('locked', `${first}:${second}`)).toThrow(refusal('EACCES', 'locked'));
		expect(() => resolve('locked', `${second}:${first}`)).toThrow(refusal('EACCES', 'locked'));
	});
});

test('a program with a slash is left to the kernel', () => {
	expect(resolve('./absent', first)).toBe('./absent');
	expect(resolve('/absent/at all', undefined)).toBe('/absent/at all');
	expect(resolve('bin/tool', first)).toBe('bin/tool');
});
