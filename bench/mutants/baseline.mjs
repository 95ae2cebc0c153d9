import {createHash} from 'node:crypto';
import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {withProbes} from './probes.mjs';
import {runTests} from './run-tests.mjs';
import {OWN} from './tree.mjs';

const FILES_AT_ONCE = 12;
const LIMIT_MS = 420_000;
const REACHED = join(OWN, 'reached.txt');

/**
 * Runs the tests on the unchanged source, with a note at each place that says which test files reach it. Adds to `known`,
 * by test file: `{hash, passed, ms, slowestMs, reached, failure}`; those in it that passed with the same text are not run again.
 * Reached within the test's own process, that is: neither in the built command nor in workers.
 */
export async function takeBaseline(tree, tests, places, known, save) {
	const files = [...new Set(places.map(({file}) => file))];
	for (const file of files) {
		const own = places.filter(place => place.file === file);
		tree.write(file, withProbes(tree.read(file), own));
	}
	const missing = tests.filter(test => !known[test]?.passed || known[test].hash !== hashOf(tree.read(test)));
	for (let at = 0; at < missing.length; at += FILES_AT_ONCE) {
		const some = missing.slice(at, at + FILES_AT_ONCE);
		Object.assign(known, await runSome(tree, some));
		save();
		console.error(`baseline: ${Math.min(at + FILES_AT_ONCE, missing.length)} of ${missing.length} test files`);
	}
	for (const file of files) tree.restore(file);
}

async function runSome(tree, tests) {
	rmSync(join(tree.path, REACHED), {force: true});
	const results = await runGreen(tree, tests);
	const reached = existsSync(join(tree.path, REACHED)) ? tree.read(REACHED).split('\n').filter(Boolean) : [];
	const rows = reached
		.map(line => line.split('\t'))
		.map(([id, path]) => [Number(id), path.slice(tree.path.length + 1)]);
	return Object.fromEntries(
		tests.map(test => {
			const own = [...new Set(rows.filter(([, path]) => path === test).map(([id]) => id))].sort((a, b) => a - b);
			return [test, {hash: hashOf(tree.read(test)), ...results.get(test), reached: own}];
		}),
	);
}

/** A file that fails among others is tried once more by itself; so are all when the run fails and none of them does. */
async function runGreen(tree, tests) {
	const options = {limitMs: LIMIT_MS, isProbed: true, isBailing: false};
	const {verdict, files, failure} = await runTests(tree, tests, options);
	const results = new Map(tests.map(test => [test, {passed: false, ms: 0, slowestMs: 0, failure}]));
	for (const {test, ...result} of files) results.set(test, result);
	if (tests.length === 1 && verdict !== 'passed') results.get(tests[0]).passed = false;
	if (tests.length === 1 || verdict === 'passed') return results;
	const failing = tests.filter(test => !results.get(test).passed);
	for (const test of failing.length > 0 ? failing : tests) {
		const again = await runGreen(tree, [test]);
		results.set(test, again.get(test));
	}
	return results;
}

function hashOf(text) {
	return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
