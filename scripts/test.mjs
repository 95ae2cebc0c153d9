// Every check in order: format and lint, types, build, unit and contract tests, conformance where the suite exists, and
// with LONGARM_TEST_INTEROP=1 the real peer, which is installed for it.
// The last line counts what ran; the first failing step ends the run.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const root = new URL('..', import.meta.url).pathname;
const scratch = mkdtempSync(join(tmpdir(), 'longarm-test-'));
const totals = {passed: 0, failed: 0, skipped: 0};
let ok = true;

run('lint', 'npm', 'run', '--silent', 'lint');
run('types', 'npm', 'run', '--silent', 'types');
run('build', 'npm', 'run', '--silent', 'build');
run(
	'unit and contract',
	'npx',
	'vitest',
	'run',
	'--reporter=default',
	'--reporter=json',
	`--outputFile=${scratch}/unit.json`,
);
if (existsSync(join(root, '../shared/conformance/run.mjs'))) {
	run('conformance', process.execPath, 'scripts/conformance.mjs', '--json', `${scratch}/conformance.json`);
}
if (process.env.LONGARM_TEST_INTEROP === '1') {
	run('interop', process.execPath, 'scripts/interop.mjs', '--json', scratch);
}

for (const file of ['unit.json', 'their-server.json']) {
	count(file, ({numPassedTests, numFailedTests, numPendingTests}) => [
		numPassedTests,
		numFailedTests,
		// What a run was told to leave out is not counted as skipped.
		file === 'unit.json' ? numPendingTests : 0,
	]);
}
count('their-client.json', ({passed, failed}) => [Number(passed), Number(failed), 0]);
count('conformance.json', ({results}) =>
	['passed', 'failed', 'skipped'].map(status => results.filter(test => test.status === status).length),
);
rmSync(scratch, {recursive: true, force: true});
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(ok ? 0 : 1);

function run(name, command, ...args) {
	if (!ok) return;
	console.log(`\n== ${name}`);
	const began = Date.now();
	ok = spawnSync(command, args, {cwd: root, stdio: 'inherit'}).status === 0;
	console.log(`== ${name}: ${ok ? 'ok' : 'FAILED'} in ${((Date.now() - began) / 1000).toFixed(1)} s`);
}

function count(file, read) {
	const path = join(scratch, file);
	if (!existsSync(path)) return;
	const [passed, failed, skipped] = read(JSON.parse(readFileSync(path, 'utf8')));
	totals.passed += passed;
	totals.failed += failed;
	totals.skipped += skipped;
}
