#!/usr/bin/env node
// Runs the conformance suite against a server; --help lists the options.
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {serverEnvironment} from './lib/launch.mjs';
import {readOptions} from './lib/options.mjs';
import {runTests} from './lib/runner.mjs';
import {selectTests} from './lib/select.mjs';

const options = readOptions();
const tests = await selectTests(options).catch(giveUp);
if (options.list) {
	const lines = tests.map(({profile, group, name, slow}) => `[${profile}] ${group}: ${name}${slow ? ' (slow)' : ''}\n`);
	await print(lines.join(''));
	process.exit(0);
}

// A test that fails half-way may leave waits behind that reject later; they belong to no test.
process.on('unhandledRejection', () => {});
const home = mkdtempSync(join(tmpdir(), 'conformance-home-'));
process.on('exit', () => rmSync(home, {recursive: true, force: true}));

const began = performance.now();
for (const test of tests) {
	const reason = reasonToSkip(test);
	if (reason) Object.assign(test, {status: 'skipped', error: reason, ms: 0});
}
const target = {
	serverCmd: options['server-cmd'],
	stdioCmd: options['stdio-cmd'],
	env: serverEnvironment(home),
	jobs: Number(options.jobs),
	retentionMs: Number(options.retention) * 1000,
};
const due = tests.filter(test => !test.status);
await runTests(due, target, report).catch(giveUp);

if (options.json) {
	const ms = Math.round(performance.now() - began);
	writeFileSync(options.json, `${JSON.stringify({ms, results: tests}, null, 1)}\n`);
}
const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map(count);
await print(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}\n`);
process.exit(failed ? 1 : 0);

/** Settles when the text is out: an exit drops what a slow reader of a pipe has not taken. */
function print(text) {
	return new Promise(resolve => process.stdout.write(text, resolve));
}

function reasonToSkip(test) {
	if (test.slow && !options.slow) return 'slow';
	if (test.upstream && options.upstream) return `upstream: ${test.upstream}`;
}

function report({status, profile, group, name, error, ms}) {
	if (status === 'failed') console.log(`FAIL [${profile}] ${group}: ${name} — ${error}`);
	else if (options.verbose) console.log(`${status} [${profile}] ${group}: ${name} (${ms} ms)`);
}

function count(status) {
	return tests.filter(test => test.status === status).length;
}

function giveUp(error) {
	console.error(error.message);
	process.exit(2);
}
