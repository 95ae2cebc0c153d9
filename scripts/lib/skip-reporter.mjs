// Reporter of vitest that counts, and names what failed or was skipped, and why:
//   LONGARM_TEST_REPORT=FILE vitest run
// writes the report of test-report.mjs. A test that is skipped without a reason fails the run: nobody could
// tell what is missing. Tests that a name pattern or `only` leaves out are not skipped, and are not counted.
import {relative} from 'node:path';
import {writeReport} from './test-report.mjs';

export default class SkipReporter {
	/** Read now: the variables of the run are cleaned before its tests start. */
	#file = process.env.LONGARM_TEST_REPORT;
	#pattern;
	#root;

	onInit(vitest) {
		this.#pattern = vitest.config.testNamePattern;
		this.#root = vitest.config.root;
	}

	onTestRunEnd(modules, unhandledErrors = []) {
		const tests = modules.flatMap(module => [...module.children.allTests()]);
		const inState = state => tests.filter(test => test.result().state === state);
		const skipped = this.#skipped(inState('skipped'), tests);
		const failures = [
			...inState('failed').map(describeFailed),
			...brokenFiles(modules).map(describeBroken),
			...unhandledErrors.map(error => describeUnhandled(error, this.#root)),
		];
		const report = {passed: inState('passed').length, failed: failures.length, skipped, failures};
		writeReport(report, this.#file);
		const unexplained = skipped.filter(({reason}) => reason === undefined);
		if (unexplained.length === 0) return;
		console.error(`skipped without a reason:${unexplained.map(({name}) => `\n  ${name}`).join('')}`);
		process.exitCode = 1;
	}

	#skipped(skipped, tests) {
		if (tests.some(({options}) => options.mode === 'only')) return [];
		return skipped.filter(test => this.#isChosen(test)).map(test => ({name: nameOf(test), reason: reasonOf(test)}));
	}

	/** Whether the run was meant to have this test. */
	#isChosen(test) {
		return this.#pattern === undefined || this.#pattern.test(test.fullName.replaceAll(' > ', ' '));
	}
}

/** Files that fail outside of a test, as when they cannot be loaded. */
function brokenFiles(modules) {
	return modules.filter(
		module => module.errors().length > 0 || [...module.children.allSuites()].some(suite => suite.errors().length > 0),
	);
}

function describeFailed(test) {
	return {name: nameOf(test), file: test.module.relativeModuleId, error: test.result().errors?.[0]?.message};
}

function describeBroken(module) {
	const [error] = [module, ...module.children.allSuites()].flatMap(part => part.errors());
	return {name: module.relativeModuleId, file: module.relativeModuleId, error: error?.message};
}

/** An error outside of any test, such as a rejection that nothing handles, belongs to the file that was running. */
function describeUnhandled({message, VITEST_TEST_PATH: path}, root) {
	const file = path === undefined ? undefined : relative(root, path);
	return {name: `${file ?? 'unknown file'} > outside of its tests`, file, error: message};
}

function nameOf({module, fullName}) {
	return `${module.relativeModuleId} > ${fullName}`;
}

function reasonOf(test) {
	return test.result().note ?? test.meta().skipReason;
}
