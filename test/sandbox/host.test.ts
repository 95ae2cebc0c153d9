import {execFileSync} from 'node:child_process';
import {mkdirSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {findGlobMatches} from '../../src/sandbox/globs.js';
import {locatePath, readSmallText} from '../../src/sandbox/host.js';
import {needs} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';

function tree(): string {
	const base = realpathSync(scratchDirectory());
	mkdirSync(join(base, 'a/b'), {recursive: true});
	writeFileSync(join(base, 'a/file'), '');
	symlinkSync('a', join(base, 'relative'));
	symlinkSync(join(base, 'relative/b'), join(base, 'absolute'));
	symlinkSync('loop', join(base, 'loop'));
	return base;
}

test('a path is followed to its end, and its links are told', () => {
	const base = tree();
	expect(locatePath(join(base, 'a/file'))).toEqual({found: true, path: join(base, 'a/file'), kind: 'file', links: []});
	expect(locatePath(join(base, 'absolute'))).toEqual({
		found: true,
		path: join(base, 'a/b'),
		kind: 'directory',
		links: [
			{path: join(base, 'absolute'), to: join(base, 'relative/b')},
			{path: join(base, 'relative'), to: 'a'},
		],
	});
	expect(locatePath('/')).toEqual({found: true, path: '/', kind: 'directory', links: []});
});

test('a path that leads nowhere tells where something is missing', () => {
	const base = tree();
	expect(locatePath(join(base, 'relative/none/x'))).toEqual({found: false, path: join(base, 'a/none/x')});
	expect(locatePath(join(base, 'a/file/x'))).toEqual({found: false, path: join(base, 'a/file/x')});
	expect(locatePath(join(base, 'loop'))).toEqual({found: false, path: join(base, 'loop')});
});

test('a glob finds hidden names and directories as a whole, down to a depth, and follows no links', async () => {
	const base = tree();
	for (const name of ['.env', 'a/.env', 'a/b/x.env']) writeFileSync(join(base, name), '');
	const found = async (pattern: string, depth?: number) => (await findGlobMatches(`${base}/${pattern}`, depth)).sort();
	expect(await found('**/*.env')).toEqual(['.env', 'a/.env', 'a/b/x.env'].map(name => join(base, name)).sort());
	expect(await found('**/*.env', 2)).toEqual(['.env', 'a/.env'].map(name => join(base, name)).sort());
	expect(await found('**/b')).toEqual([join(base, 'a/b')]);
	expect(await found('a/file')).toEqual([join(base, 'a/file')]);
	expect(await found('none/*')).toEqual([]);
});

test('the beginning of a regular file is read, and nothing is waited for', needs('mkfifo'), () => {
	const base = tree();
	writeFileSync(join(base, 'text'), 'x'.repeat(10_000));
	execFileSync('mkfifo', [join(base, 'fifo')]);
	expect(readSmallText(join(base, 'text'))).toBe('x'.repeat(4096));
	for (const path of ['fifo', 'a', 'none', 'loop']) expect(readSmallText(join(base, path))).toBeUndefined();
	expect(readSmallText('/dev/zero')).toBeUndefined();
});

test('others get their turn while a glob is looked for, and the work is bounded', async () => {
	const base = tree();
	let turns = 0;
	const count = (): void => {
		turns++;
		turn = setImmediate(count);
	};
	let turn = setImmediate(count);
	expect(await findGlobMatches(`${base}/**/*a*a*a*a*a*b`)).toEqual([]);
	clearImmediate(turn);
	expect(turns).toBeGreaterThan(0);
	await expect(findGlobMatches(`${base}/**/x`, 16, {steps: 50})).rejects.toThrow(/too much has to be looked at/);
});

test('a directory in which nothing can match is not looked into', async () => {
	const base = tree();
	mkdirSync(join(base, 'a/b/c/d'), {recursive: true});
	const budget = {steps: 100_000};
	await findGlobMatches(`${base}/n*/**/d`, 16, budget);
	const spent = 100_000 - budget.steps;
	const whole = {steps: 100_000};
	await findGlobMatches(`${base}/**/d`, 16, whole);
	expect(spent).toBeLessThan(100_000 - whole.steps);
});
