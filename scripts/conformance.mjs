// Runs the public conformance suite against the built command: the current protocol and the design notes on one
// server, the first protocol on a strict one.
// Further arguments are handed on: npm run conformance -- --slow --verbose
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseArgs} from 'node:util';

const root = new URL('..', import.meta.url).pathname;
const suite = new URL('../../shared/conformance/', import.meta.url).pathname;
if (!existsSync(suite)) {
	console.error(`no conformance suite at ${suite}`);
	process.exit(2);
}
const {values, tokens} = parseArgs({options: {json: {type: 'string'}}, strict: false, tokens: true});
const handedOn = tokens
	.filter(token => token.kind === 'option' && token.name !== 'json')
	.flatMap(({rawName, value}) => (value === undefined ? [rawName] : [rawName, value]));
const scratch = mkdtempSync(join(tmpdir(), 'longarm-conformance-'));
const groups = readdirSync(`${suite}public/groups`)
	.map(file => file.replace('.mjs', ''))
	.filter(group => group !== 'v0');

const runs = [
	run('core,current,design', '', [`--only=${groups.join(',')}`]),
	run('v0', '--protocol v0', ['--only=v0']),
];
if (values.json) writeFileSync(values.json, `${JSON.stringify({results: runs.flatMap(({results}) => results)})}\n`);
rmSync(scratch, {recursive: true, force: true});
process.exit(runs.every(({ok}) => ok) ? 0 : 1);

function run(profile, flags, args) {
	console.log(`${profile}:`);
	const serve = `exec node dist/bin/longarm.js serve --log-level error ${flags}`;
	const json = join(scratch, `${profile}.json`);
	const {status} = spawnSync(
		process.execPath,
		[
			`${suite}run.mjs`,
			`--server-cmd=${serve} --listen ws://127.0.0.1:0`,
			`--stdio-cmd=${serve} --listen stdio`,
			`--profile=${profile}`,
			`--json=${json}`,
			...args,
			...handedOn,
		],
		{cwd: root, stdio: 'inherit'},
	);
	const results = existsSync(json) ? JSON.parse(readFileSync(json, 'utf8')).results : [];
	return {ok: status === 0 && results.length > 0, results};
}
