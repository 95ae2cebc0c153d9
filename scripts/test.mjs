// Runs every check, even after one fails: format and lint, types, build, unit and contract tests, conformance. Three more on demand:
//   LONGARM_TEST_INTEROP=1   codex itself, which is installed for it: the newest known version in full, an older one in short
//   LONGARM_TEST_PACKAGE=1   the package in an empty project, with tools that are installed for it
//   LONGARM_TEST_NODE=24     contract tests and conformance on another line of Node, which is installed for it
// LONGARM_TEST_BARE=1 runs other steps: the tests that use optional programs, and conformance, with all of these programs hidden;
// root also runs them as the user nobody.
// LONGARM_TEST_TOTAL names a file that adds up the counts of several runs.
// If few files have failed tests, these files run once more, alone.
// Ends with the tests that were skipped or failed and why, a line per step, the counts, and the tests that passed only when repeated.
import {spawnSync} from 'node:child_process';
import {join} from 'node:path';
import {CONTRACT_TESTS} from './lib/contract-tests.mjs';
import {filesThatUsePrograms} from './lib/optional-programs.mjs';
import {scratchFolder} from './lib/scratch-folder.mjs';
import {TESTED_PEERS} from './lib/stock-codex.mjs';
import {readReport, writeReport} from './lib/test-report.mjs';

const root = new URL('..', import.meta.url).pathname;
const scratch = scratchFolder('test');
const {
	LONGARM_TEST_INTEROP: interop,
	LONGARM_TEST_PACKAGE: published,
	LONGARM_TEST_NODE: line,
	LONGARM_TEST_BARE: bare,
	LONGARM_TEST_TOTAL: totalFile,
} = process.env;

/** More files than these with failed tests are a broken build, and are not run again. */
const MAX_FILES_AGAIN = 3;

const BUILD = {name: 'build', seconds: 15, command: ['npm', 'run', '--silent', 'build']};

/** `seconds` is what a step takes on two cores that have nothing else to do. */
const ALL_STEPS = [
	{name: 'lint', seconds: 30, command: ['npm', 'run', '--silent', 'lint']},
	{name: 'types', seconds: 5, command: ['npm', 'run', '--silent', 'types']},
	BUILD,
	{
		name: 'unit and contract',
		seconds: 700,
		command: vitest('run'),
		again: (...files) => vitest('run', ...files),
		needsBuild: true,
	},
	{name: 'conformance', seconds: 60, command: conformance(), needsBuild: true},
	...(interop === '1' ? [{name: 'interop', seconds: 200, command: peer(), needsBuild: true}] : []),
	...(published === '1' ? [{name: 'package', seconds: 30, command: packed(), needsBuild: true}] : []),
	...(line
		? [
				{
					name: `contract on Node ${line}`,
					seconds: 90,
					command: onLine(vitest('run', ...CONTRACT_TESTS)),
					again: (...files) => onLine(vitest('run', ...files)),
					needsBuild: true,
				},
				{name: `conformance on Node ${line}`, seconds: 60, command: onLine(conformance()), needsBuild: true},
			]
		: []),
];

const BARE_STEPS = [
	BUILD,
	...bareSteps('without optional programs'),
	...(process.geteuid?.() === 0 ? bareSteps('without optional programs, as nobody', '--user', 'nobody') : []),
];

const STEPS = bare === '1' ? BARE_STEPS : ALL_STEPS;

const began = performance.now();
console.log(`${STEPS.length} steps, ${duration(sum(STEPS.map(({seconds}) => seconds)))} on two idle cores`);
const outcomes = [];
for (const [index, step] of STEPS.entries()) outcomes.push(run(step, index));
summarize();

function run({name, command, again, needsBuild}, index) {
	const report = join(scratch, `${index}.json`);
	if (needsBuild && outcomes.some(outcome => outcome.name === 'build' && !outcome.isGreen)) {
		return {
			name,
			isGreen: false,
			status: 'not run: there is no build',
			seconds: 0,
			unsteady: [],
			...counts(report, false),
		};
	}
	console.log(`\n== ${name}`);
	const start = performance.now();
	const why = execute(command, report);
	const unsteady = why === undefined ? [] : runAgain(again, report, join(scratch, `${index}-again.json`));
	const isGreen = why === undefined || unsteady.length > 0;
	const seconds = (performance.now() - start) / 1000;
	console.log(`== ${name}: ${isGreen ? 'ok' : 'FAILED'} in ${duration(seconds)}`);
	const sums = counts(report, isGreen);
	const steady = {passed: sums.passed + unsteady.length, failed: sums.failed - unsteady.length, skipped: sums.skipped};
	const failures = isGreen ? [] : sums.failures;
	return {name, isGreen, status: isGreen ? 'ok' : `FAILED (${why})`, seconds, unsteady, failures, ...steady};
}

/** Returns why the command failed; undefined if it did not. Unit tests load the build: see vitest.config.ts. */
function execute([program, ...args], report) {
	const {status, signal, error} = spawnSync(program, args, {
		cwd: root,
		stdio: 'inherit',
		env: {...process.env, LONGARM_TEST_BUILT: '1', LONGARM_TEST_REPORT: report},
	});
	if (status === 0) return undefined;
	return error?.message ?? (signal ? `ended by ${signal}` : `exit ${status}`);
}

/** Failed tests of a step that all pass when their files are run once more; none if one fails again, or if that was not tried. */
function runAgain(again, report, second) {
	const {failures} = readReport(report);
	const files = [...new Set(failures.map(({file}) => file))];
	if (!again || files.length === 0 || files.length > MAX_FILES_AGAIN) return [];
	console.log(`\n== once more: ${files.join(' ')}`);
	return execute(again(...files), second) === undefined ? failures : [];
}

/** A step that fails without a failed test, or without a report, counts as one failure: the sum must not look green. */
function counts(report, isGreen) {
	const {passed, failed, skipped, failures} = readReport(report);
	return {passed, failed: isGreen ? failed : Math.max(failed, 1), skipped, failures};
}

function summarize() {
	const skipped = outcomes.flatMap(outcome => outcome.skipped.map(test => ({step: outcome.name, ...test})));
	if (skipped.length > 0) console.log('\nSkipped:');
	for (const {step, name, reason} of skipped) console.log(`  ${step}: ${name}: ${reason}`);
	list('Failed:', 'failures');
	console.log('');
	const width = Math.max(...outcomes.map(({name}) => name.length));
	for (const {name, status, seconds} of outcomes) {
		console.log(`${name.padEnd(width)}  ${seconds > 0 ? duration(seconds).padStart(12) : ' '.repeat(12)}  ${status}`);
	}
	console.log(`${'in all'.padEnd(width)}  ${duration((performance.now() - began) / 1000).padStart(12)}`);
	const total = key => sum(outcomes.map(outcome => outcome[key]));
	console.log(`\n${total('passed')} passed, ${total('failed')} failed, ${skipped.length} skipped`);
	if (totalFile) {
		writeReport({passed: total('passed'), failed: total('failed'), skipped}, totalFile);
		const all = readReport(totalFile);
		console.log(`total: ${all.passed} passed, ${all.failed} failed, ${all.skipped.length} skipped`);
	}
	list('Failed, and passed when their files were run again:', 'unsteady');
	process.exitCode = outcomes.every(({isGreen}) => isGreen) ? 0 : 1;
}

function bareSteps(name, ...flags) {
	const hidden = ([, ...args]) => [process.execPath, 'scripts/without-programs.mjs', ...flags, '--', 'node', ...args];
	return [
		{
			name: `tests ${name}`,
			seconds: 150,
			command: hidden(vitest('related', ...filesThatUsePrograms())),
			again: (...files) => hidden(vitest('run', ...files)),
			needsBuild: true,
		},
		{name: `conformance ${name}`, seconds: 60, command: hidden(conformance()), needsBuild: true},
	];
}

function list(title, key) {
	const entries = outcomes.flatMap(outcome => (outcome[key] ?? []).map(test => ({step: outcome.name, ...test})));
	if (entries.length > 0) console.log(`\n${title}`);
	for (const {step, name, error} of entries)
		console.log(`  ${step}: ${name}: ${error?.split('\n')[0] ?? 'no message'}`);
}

function vitest(command, ...args) {
	return [process.execPath, 'node_modules/vitest/vitest.mjs', command, '--run', ...args];
}

function conformance() {
	return [process.execPath, 'scripts/conformance.mjs'];
}

/** A program in CODEX_BIN takes the place of the versions that are installed. */
function peer() {
	return [process.execPath, 'scripts/interop.mjs', ...(process.env.CODEX_BIN ? [] : ['--peer', TESTED_PEERS])];
}

function packed() {
	return [process.execPath, 'scripts/check-package.mjs'];
}

/** The same with that line of Node as `node`. */
function onLine([, ...args]) {
	return [process.execPath, 'scripts/with-node.mjs', line, '--', 'node', ...args];
}

function sum(numbers) {
	return numbers.reduce((total, number) => total + number, 0);
}

function duration(seconds) {
	const whole = Math.round(seconds);
	return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
