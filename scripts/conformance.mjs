// Runs the public conformance suite against the built command. Groups whose methods are not served yet are left out.
// Further arguments are handed on: npm run conformance -- --slow --verbose
import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync} from 'node:fs';

const NOT_SERVED = ['fs', 'fs-path', 'fs-stream', 'fs-walk', 'http'];
const OTHER_PROFILES = ['design', 'v0'];

const root = new URL('..', import.meta.url).pathname;
const suite = new URL('../../shared/conformance/', import.meta.url).pathname;
if (!existsSync(suite)) {
	console.error(`no conformance suite at ${suite}`);
	process.exit(2);
}
const groups = readdirSync(`${suite}public/groups`)
	.map(file => file.replace('.mjs', ''))
	.filter(group => !NOT_SERVED.includes(group) && !OTHER_PROFILES.includes(group));
const serve = 'exec node dist/bin/longarm.js serve --log-level error';
const {status} = spawnSync(
	process.execPath,
	[
		`${suite}run.mjs`,
		`--server-cmd=${serve} --listen ws://127.0.0.1:0`,
		`--stdio-cmd=${serve} --listen stdio`,
		`--only=${groups.join(',')}`,
		...process.argv.slice(2),
	],
	{cwd: root, stdio: 'inherit'},
);
process.exit(status ?? 1);
