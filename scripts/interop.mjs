// Tests longarm with codex itself: the client of codex with our server, our client with the server of codex, and clients and
// servers of different versions through our hub.
//   npm run test:interop [-- --peer VERSION[:short],...] [--short] [--client | --server] [--jobs N]
//                        [--transcripts DIR] [--sandbox-enforcer NAME]
// A version is installed in a scratch folder on demand, `latest` is the newest release. Without --peer it is that of the
// program in CODEX_BIN, else the default of stock-codex.mjs. --short runs a few scenarios only.
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {parsePeers, planSuites} from './lib/interop-suites.mjs';
import {scratchFolder} from './lib/scratch-folder.mjs';
import {defaultPeer, findPeer, newestPeer} from './lib/stock-codex.mjs';
import {readReport, toReport, writeReport} from './lib/test-report.mjs';

/** Suites wait for events most of the time, so that two of them share two cores well. */
const DEFAULT_JOBS = 2;

const root = fileURLToPath(new URL('..', import.meta.url));
const program = join(root, 'dist/bin/longarm.js');
const {values: flags} = parseArgs({
	options: {
		peer: {type: 'string'},
		short: {type: 'boolean', default: false},
		client: {type: 'boolean'},
		server: {type: 'boolean'},
		jobs: {type: 'string', default: String(DEFAULT_JOBS)},
		transcripts: {type: 'string', default: join(root, 'test/interop/transcripts')},
		'sandbox-enforcer': {type: 'string', default: 'auto'},
	},
});
const scratch = scratchFolder('interop-run');
// Commands run in login shells: the profile of the caller is not part of the test.
const home = mkdtempSync(join(scratch, 'home-'));
const transcripts = resolve(flags.transcripts);
if (!existsSync(program)) {
	const {status} = spawnSync(process.execPath, [join(root, 'scripts/build.mjs')], {stdio: 'inherit'});
	if (status !== 0) process.exit(1);
}

const unavailable = [];
const peers = choosePeers().flatMap(peer => install(peer));
const enforcer = flags['sandbox-enforcer'];
const sides = flags.client === flags.server ? undefined : [flags.client ? 'ours' : 'theirs'];
const suites = planSuites(peers, {root, enforcer, hasSandbox: enforcer !== 'auto' || isSandboxHere()}, sides);
const outcomes = [];
const waiting = [...suites.entries()];
await Promise.all(Array.from({length: Number(flags.jobs)}, work));
summarize();

/** Runs suites, one after the other, until none is left. */
async function work() {
	for (let next = waiting.shift(); next; next = waiting.shift()) {
		const [index, suite] = next;
		const label = `[${index + 1}/${suites.length}]`;
		console.log(`${label} == ${suite.group}: ${suite.title}`);
		const began = performance.now();
		const {status, report} = await (suite.tests ? runTests(suite, label) : runScenarios(suite, label));
		writeReport(report);
		const seconds = (performance.now() - began) / 1000;
		outcomes.push({index, ...suite, ...report, seconds, isGreen: status === 0 && report.failed === 0});
		console.log(`${label} == ${suite.group}: ${suite.title}: ${describe(report)} in ${Math.round(seconds)} s`);
	}
}

/** Runs the tests of our client. */
async function runTests({tests, program: CODEX_BIN}, label) {
	const file = join(mkdtempSync(join(scratch, 'tests-')), 'report.json');
	const vitest = ['node_modules/vitest/vitest.mjs', 'run', '-t', 'stock', ...tests];
	const status = await run(vitest, {CODEX_BIN, LONGARM_TEST_REPORT: file}, label);
	return {status, report: withFailure(readReport(file), status, 'our client')};
}

/** Runs scenarios of the client of a version. */
async function runScenarios({group, title, scenarios, program: CODEX_BIN}, label) {
	const file = join(mkdtempSync(join(scratch, 'rig-')), 'results.json');
	const folder = join(transcripts, group, title.replaceAll(/[^\w.]+/g, '-'));
	rmSync(folder, {recursive: true, force: true});
	const status = await run(
		['test/interop/run.mjs', ...scenarios, '--transcripts', folder, '--json', file],
		{CODEX_BIN},
		label,
	);
	const results = readReport(file).results ?? [];
	const named = results.map(({name, reason, ...rest}) => ({
		...rest,
		reason,
		error: reason,
		name: `${group}: ${title}: ${name}`,
	}));
	return {status, report: withFailure(toReport(named), status, title)};
}

/** A suite that fails without a failed test counts as one failure. */
function withFailure(report, status, name) {
	if (status === 0 || report.failed > 0) return report;
	return {...report, failed: 1, failures: [{name, error: `it ended with ${status}`}]};
}

async function run([script, ...args], variables, label) {
	const child = spawn(process.execPath, [join(root, script), ...args], {
		cwd: root,
		stdio: ['ignore', 'pipe', 'pipe'],
		env: {...process.env, HOME: home, ...variables},
	});
	for (const stream of [child.stdout, child.stderr]) {
		createInterface({input: stream}).on('line', line => console.log(`${label} ${line}`));
	}
	const [status] = await once(child, 'close');
	return status;
}

function choosePeers() {
	try {
		const text = flags.peer ?? defaultPeer();
		return parsePeers(text, {isShort: flags.short, newest: newestPeer});
	} catch (error) {
		console.error(`The versions of codex are not known: ${error.message}.`);
		process.exit(1);
	}
}

/** Returns the peer with its program; a version that cannot be installed is reported, and the others are run. */
function install({version, isShort}) {
	try {
		return [{version, isShort, program: findPeer(version)}];
	} catch (error) {
		unavailable.push(version);
		console.error(`codex ${version} is not available: ${error.message}.`);
		console.error(
			'Installing it requires the npm registry; CODEX_BIN can name a codex program of that version instead.',
		);
		return [];
	}
}

/** Returns whether our server has a sandbox on this machine, with bubblewrap or without. */
function isSandboxHere() {
	const {stdout} = spawnSync(process.execPath, [program, 'doctor', '--json'], {encoding: 'utf8'});
	return JSON.parse(stdout).some(({check, status}) => check === 'sandbox' && status === 'ok');
}

function summarize() {
	console.log('');
	outcomes.sort((one, other) => one.index - other.index);
	for (const {group, title, seconds, ...report} of outcomes) {
		console.log(`${`${group}: ${title}`.padEnd(64)} ${describe(report)}, ${Math.round(seconds)} s`);
	}
	for (const group of new Set(outcomes.map(outcome => outcome.group))) {
		const own = outcomes.filter(outcome => outcome.group === group);
		const sum = key => own.reduce((total, outcome) => total + outcome[key], 0);
		const skipped = own.flatMap(outcome => outcome.skipped);
		console.log(`${group}: ${describe({passed: sum('passed'), failed: sum('failed'), skipped})}`);
	}
	for (const version of unavailable) console.log(`${version}: not available, nothing was tested`);
	console.log(`recorded traffic: ${transcripts}`);
	const isComplete = unavailable.length === 0 && outcomes.length === suites.length;
	process.exitCode = isComplete && outcomes.every(({isGreen}) => isGreen) ? 0 : 1;
}

function describe({passed, failed, skipped}) {
	return `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`;
}
