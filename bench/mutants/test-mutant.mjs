import {basename, dirname} from 'node:path';
import {runTests} from './run-tests.mjs';

/** Test files per round: few first, since most changes are noticed by the nearest. */
const ROUNDS = [2, 4];
const START_MS = 20_000;
const SLOWER_AT_MOST = 2;
const MIN_TEST_LIMIT_MS = 10_000;
/** Tests of the built command by module: they do not see the source, so they are asked last, after a build. */
const BUILT_TESTS = {
	client: ['test/cli/run.test.ts', 'test/cli/attach.test.ts', 'test/client/contract.test.ts'],
	filesystem: ['test/cli/copy.test.ts', 'test/cli/ls-cat.test.ts', 'test/server/sandbox-files.test.ts'],
	http: ['test/cli/forward.test.ts', 'test/client/http/contract.test.ts'],
	processes: ['test/cli/run.test.ts', 'test/cli/survivors.test.ts', 'test/cli/server-killed.test.ts'],
	protocol: ['test/cli/serve-stdio.test.ts', 'test/cli/run.test.ts'],
	rpc: ['test/cli/run-links.test.ts', 'test/cli/serve-stdio.test.ts'],
	sandbox: ['test/cli/doctor.test.ts', 'test/server/sandbox-files.test.ts', 'test/cli/run.test.ts'],
	server: ['test/cli/serve.test.ts', 'test/cli/serve-stdio.test.ts', 'test/cli/run.test.ts'],
	'server/auth': ['test/cli/auth.test.ts', 'test/cli/serve.test.ts'],
	transports: ['test/cli/serve.test.ts', 'test/cli/tls.test.ts', 'test/transports/connect-command.test.ts'],
};

/** The test files that reach a place, the nearest and of these the fastest first. */
export function testsFor(place, baseline, hops) {
	return Object.entries(baseline)
		.filter(([, {passed, reached}]) => passed && reached.includes(place.id))
		.map(([test, {ms}]) => ({test, ms, distance: distanceOf(test, place.file, hops)}))
		.sort((a, b) => a.distance - b.distance || a.ms - b.ms)
		.map(({test}) => test);
}

/** Changes one place and runs the tests that reach it: `{status, by, tried, reaching}`. */
export async function testMutant(tree, place, {baseline, hops, maxTests, maxMs}) {
	const reaching = testsFor(place, baseline, hops);
	const tried = [];
	change(tree, place);
	try {
		for (const round of rounds(affordable(reaching.slice(0, maxTests), baseline, maxMs))) {
			const {verdict, failure} = await runTests(tree, round, limitsOf(round, baseline));
			tried.push(...round);
			if (verdict !== 'passed')
				return {status: verdict === 'failed' ? 'killed' : 'timeout', by: failure, tried, reaching: reaching.length};
		}
	} finally {
		tree.restore(place.file);
	}
	return {status: 'survived', tried, reaching: reaching.length};
}

/** Runs the types and the tests of the built command on a change that the other tests did not notice. */
export async function testBuiltMutant(tree, place, {baseline}) {
	change(tree, place);
	const typesNotice = !(await tree.areTypesRight());
	// Types that are wrong in the changed file would end the build.
	tree.write(place.file, `// @ts-nocheck\n${tree.read(place.file)}`);
	try {
		if (!(await tree.build())) return {typesNotice, built: 'cannot be built'};
		const tests = BUILT_TESTS[place.module].filter(test => baseline[test]?.passed);
		const {verdict, failure} = await runTests(tree, tests, limitsOf(tests, baseline));
		if (verdict === 'passed') return {typesNotice, built: tests};
		return {typesNotice, built: tests, status: verdict === 'failed' ? 'killed' : 'timeout', by: failure};
	} finally {
		tree.restore(place.file);
	}
}

export const allBuiltTests = [...new Set(Object.values(BUILT_TESTS).flat())];

function change(tree, {file, start, end, before, after}) {
	const source = tree.read(file);
	if (source.slice(start, end) !== before) throw new Error(`${file} is not the one that was looked at`);
	tree.write(file, source.slice(0, start) + after + source.slice(end));
}

/** The first round, and what fits the time beyond it. */
function affordable(tests, baseline, maxMs) {
	let sum = 0;
	return tests.filter((test, index) => {
		if (index >= ROUNDS[0] && sum + baseline[test].ms > maxMs) return false;
		sum += baseline[test].ms;
		return true;
	});
}

function rounds(tests) {
	const cuts = [];
	let at = 0;
	for (const size of ROUNDS) {
		cuts.push(tests.slice(at, at + size));
		at += size;
	}
	return [...cuts, tests.slice(at)].filter(({length}) => length > 0);
}

function limitsOf(tests, baseline) {
	const own = tests.map(test => baseline[test]);
	const slowest = Math.max(...own.map(({slowestMs}) => slowestMs));
	return {
		limitMs: START_MS + SLOWER_AT_MOST * own.reduce((sum, {ms}) => sum + ms, 0),
		testLimitMs: Math.max(MIN_TEST_LIMIT_MS, SLOWER_AT_MOST * slowest),
	};
}

/** 0 for a test of the same name, then by imports on the way, those of the same layer before others. */
function distanceOf(test, file, hops) {
	const [name, layer] = [basename(file, '.ts'), dirname(file).split('/')[1]];
	if (basename(test, '.test.ts') === name) return 0;
	const isOwnLayer = test.startsWith(`test/${layer}/`);
	return (hops.get(test)?.get(file) ?? Number.MAX_SAFE_INTEGER) + (isOwnLayer ? 0 : 0.5);
}
