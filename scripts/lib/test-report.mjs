// The report of a step of `npm it`: {passed, failed, skipped: [{name, reason}], failures: [{name, file, error}]}, in the file that
// LONGARM_TEST_REPORT names.
import {existsSync, readFileSync, writeFileSync} from 'node:fs';

const EMPTY = {passed: 0, failed: 0, skipped: [], failures: []};

/** Adds to what is in the file already; without a file nobody wants a report. */
export function writeReport({passed, failed, skipped, failures = []}, file = process.env.LONGARM_TEST_REPORT) {
	if (!file) return;
	const before = readReport(file);
	const report = {
		passed: before.passed + passed,
		failed: before.failed + failed,
		skipped: [...before.skipped, ...skipped],
		failures: [...before.failures, ...failures],
	};
	writeFileSync(file, `${JSON.stringify(report)}\n`);
}

export function readReport(file) {
	const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
	return text === '' ? EMPTY : JSON.parse(text);
}

/** Of results as the conformance suite and the interop rig give them. */
export function toReport(results) {
	const withStatus = status => results.filter(result => result.status === status);
	return {
		passed: withStatus('passed').length,
		failed: withStatus('failed').length,
		skipped: withStatus('skipped').map(({group, name, error, reason}) => ({
			name: group === undefined ? name : `${group}: ${name}`,
			reason: reason ?? error,
		})),
		failures: withStatus('failed').map(({group, name, error}) => ({
			name: group === undefined ? name : `${group}: ${name}`,
			error,
		})),
	};
}
