import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {OWN} from './tree.mjs';

const REPORT = join(OWN, 'report.json');
const TIMED_OUT = /(Test|Hook) timed out in/;
const MAX_MESSAGE_CHARACTERS = 300;

/**
 * Runs test files in a tree: `{verdict, files, failure}`. The verdict is `passed`, `failed`, `timeout` (a test or the
 * run took too long) or `memory`; `files` says of each how long it took and whether it passed.
 */
export async function runTests(tree, tests, {limitMs, testLimitMs, isProbed = false, isBailing = true}) {
	rmSync(join(tree.path, REPORT), {force: true});
	const config = join(OWN, isProbed ? 'probed.config.mjs' : 'plain.config.mjs');
	const command = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--root', tree.path, '--config', config];
	const argv = [
		...command,
		'--reporter=json',
		`--outputFile=${REPORT}`,
		...(isBailing ? ['--bail=1'] : []),
		...(testLimitMs === undefined ? [] : [`--testTimeout=${testLimitMs}`, `--hookTimeout=${testLimitMs}`]),
		...tests,
	];
	const {code, output, ended} = await tree.run(argv, limitMs);
	if (ended !== undefined) return {verdict: ended === 'time' ? 'timeout' : ended, files: [], failure: {test: tests[0]}};
	const report = existsSync(join(tree.path, REPORT)) ? JSON.parse(tree.read(REPORT)) : {testResults: []};
	const files = report.testResults.map(result => fileResult(result, tree.path));
	if (code === 0) return {verdict: 'passed', files};
	const failure = files.find(file => file.failure)?.failure ?? {
		test: '',
		message: output.slice(-MAX_MESSAGE_CHARACTERS),
	};
	return {verdict: TIMED_OUT.test(failure.message) ? 'timeout' : 'failed', files, failure};
}

function fileResult({name, status, message, startTime, endTime, assertionResults}, root) {
	const test = name.slice(root.length + 1);
	const failed = assertionResults.find(each => each.status === 'failed');
	const text = failed ? failed.failureMessages.join('\n') : message;
	return {
		test,
		ms: Math.round(endTime - startTime),
		slowestMs: Math.round(Math.max(0, ...assertionResults.map(({duration}) => duration ?? 0))),
		passed: status === 'passed',
		...(status !== 'passed' && {
			failure: {test: `${test}: ${failed?.fullName ?? ''}`, message: text.slice(0, MAX_MESSAGE_CHARACTERS)},
		}),
	};
}
