import {spawnSync} from 'node:child_process';
import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, onTestFinished, test} from 'vitest';
import {scratchDirectory} from '../helpers/scratch.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs these tests with the reporter; they are below the project, where vitest can be found. */
function reported(tests: string, ...args: string[]) {
	const folder = join(ROOT, 'node_modules/.cache', `longarm-reporter-${process.pid}`);
	mkdirSync(folder, {recursive: true});
	onTestFinished(() => rmSync(folder, {recursive: true, force: true}));
	writeFileSync(join(folder, 'a.test.mjs'), `import {describe, expect, test} from 'vitest';\n${tests}`);
	writeFileSync(join(folder, 'vitest.config.mjs'), `export default {test: {include: ['*.test.mjs'], exclude: []}}`);
	const file = join(scratchDirectory(), 'report.json');
	const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
	const reporter = `--reporter=${join(ROOT, 'scripts/lib/skip-reporter.mjs')}`;
	const {status, stderr} = spawnSync(process.execPath, [vitest, 'run', '--root', folder, reporter, ...args], {
		encoding: 'utf8',
		env: {PATH: process.env['PATH'], LONGARM_TEST_REPORT: file},
	});
	return {status, stderr, report: JSON.parse(readFileSync(file, 'utf8')) as unknown};
}

test('passed and failed tests are counted, and skipped ones named with their reason', () => {
	const {status, stderr, report} = reported(`
		test('one', () => {});
		test('two', () => { expect(1).toBe(2); });
		describe('group', {skip: true, meta: {skipReason: 'less is not installed'}}, () => { test('three', () => {}); });
		test('four', ({skip}) => { skip('no luck'); });
	`);
	expect([status, stderr]).toEqual([1, '']);
	const skipped = [
		{name: 'a.test.mjs > group > three', reason: 'less is not installed'},
		{name: 'a.test.mjs > four', reason: 'no luck'},
	];
	const failures = [
		{name: 'a.test.mjs > two', file: 'a.test.mjs', error: expect.stringContaining('expected 1 to be 2') as string},
	];
	expect(report).toEqual({passed: 1, failed: 1, skipped, failures});
});

test('a test that is skipped without a reason fails the run', () => {
	const {status, stderr, report} = reported(`test('one', () => {}); test.skip('two', () => {});`);
	expect([status, stderr]).toEqual([1, 'skipped without a reason:\n  a.test.mjs > two\n']);
	expect(report).toEqual({passed: 1, failed: 0, skipped: [{name: 'a.test.mjs > two'}], failures: []});
});

test('a test that the name pattern leaves out is not skipped', () => {
	const tests = `test('one', () => {}); test('two', ({skip}) => { skip('no luck'); }); test('three', () => {});`;
	const {status, report} = reported(tests, '-t', '^(one|two)');
	expect(status).toBe(0);
	const skipped = [{name: 'a.test.mjs > two', reason: 'no luck'}];
	expect(report).toEqual({passed: 1, failed: 0, skipped, failures: []});
});

test('an error that no test has caught is a failure of its file', () => {
	const {status, report} = reported(`
		test('one', async () => {
			Promise.reject(new Error('left alone'));
			await new Promise(resolve => setImmediate(resolve));
		});
	`);
	expect(status).toBe(1);
	const failures = [{name: 'a.test.mjs > outside of its tests', file: 'a.test.mjs', error: 'left alone'}];
	expect(report).toEqual({passed: 1, failed: 1, skipped: [], failures});
});
