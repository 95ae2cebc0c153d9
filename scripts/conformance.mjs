// Runs the conformance suite against the built command: the current protocol and the design notes on one server, the
// first protocol on a strict one. Builds the command when there is none.
// Takes the options of the suite and hands them on: npm run conformance -- --slow --verbose
import {spawnSync} from 'node:child_process';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {OPTIONS, PROFILES, readOptions, USAGE} from '../test/conformance/lib/options.mjs';
import {scratchFolder} from './lib/scratch-folder.mjs';
import {toReport, writeReport} from './lib/test-report.mjs';

const SERVERS = [
	{profiles: ['core', 'current', 'design'], flags: ''},
	{profiles: ['v0'], flags: ' --protocol v0'},
];

const root = fileURLToPath(new URL('..', import.meta.url));
const options = readOptions(
	{...OPTIONS, profile: {type: 'string', default: PROFILES.join(',')}},
	USAGE.replace(/^usage: .*$/m, 'usage: npm run conformance -- [options]').replace(
		'default core,current',
		'default all',
	),
);
if (!existsSync(join(root, 'node_modules/ws'))) giveUp('the dependencies are missing: run npm install first');
const {selectTests} = await import('../test/conformance/lib/select.mjs');
const selected = await selectTests(options).catch(error => giveUp(error.message));
if (!options.list && !existsSync(join(root, 'dist/bin/longarm.js'))) build();

const scratch = scratchFolder('conformance');
const runs = SERVERS.map(({profiles, flags}) => ({
	profiles: profiles.filter(profile => selected.some(test => test.profile === profile)),
	flags,
}))
	.filter(({profiles}) => profiles.length > 0)
	.map(run);
const results = runs.flatMap(each => each.results);
if (options.json) writeFileSync(options.json, `${JSON.stringify({results})}\n`);
writeReport(toReport(results));
process.exit(runs.every(({isGreen}) => isGreen) ? 0 : 1);

function run({profiles, flags}) {
	const profile = profiles.join(',');
	console.log(`${profile}:`);
	const serve = `exec node dist/bin/longarm.js serve --log-level error${flags}`;
	const json = join(scratch, `${profile}.json`);
	const {status} = spawnSync(
		process.execPath,
		[
			'test/conformance/run.mjs',
			`--server-cmd=${serve} --listen ws://127.0.0.1:0`,
			`--stdio-cmd=${serve} --listen stdio`,
			...handedOn(),
			`--profile=${profile}`,
			`--json=${json}`,
		],
		{cwd: root, stdio: 'inherit'},
	);
	return {isGreen: status === 0, results: existsSync(json) ? JSON.parse(readFileSync(json, 'utf8')).results : []};
}

/** The options as they were given, without the ones that differ between the runs. */
function handedOn() {
	return Object.entries(options).flatMap(([name, value]) => {
		if (name === 'profile' || name === 'json') return [];
		if (typeof value === 'string') return [`--${name}=${value}`];
		return value ? [`--${name}`] : [];
	});
}

function build() {
	console.log('no dist/bin/longarm.js: building');
	const {status} = spawnSync(process.execPath, ['scripts/build.mjs'], {cwd: root, stdio: 'inherit'});
	if (status !== 0) giveUp('the build failed');
}

function giveUp(message) {
	console.error(message);
	process.exit(2);
}
