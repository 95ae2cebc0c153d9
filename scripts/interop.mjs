// Tries longarm against the real peer: the stock codex server below our client, the stock codex client above our server.
//   npm run test:interop [-- --client | --server] [--sandbox-enforcer NAME]
// The peer is installed in a scratch folder on demand; CODEX_BIN names one that is there already.
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdtempSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {CONTRACT_TESTS, STOCK_TESTS} from './lib/contract-tests.mjs';
import {scratchFolder} from './lib/scratch-folder.mjs';
import {stockCodex} from './lib/stock-codex.mjs';
import {readReport, toReport, writeReport} from './lib/test-report.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const program = join(root, 'dist/bin/longarm.js');
const {values: flags} = parseArgs({
	options: {client: {type: 'boolean'}, server: {type: 'boolean'}, 'sandbox-enforcer': {type: 'string'}},
});
const both = !flags.client && !flags.server;
const CODEX_BIN = stockCodex();
// Commands run in login shells: the profile of the caller is not part of the test.
const scratch = scratchFolder('interop-run');
const home = mkdtempSync(join(scratch, 'home-'));
const [theirServer, theirClient] = ['their-server.json', 'their-client.json'].map(name => join(scratch, name));
if (!existsSync(program) && !(await run('scripts/build.mjs'))) process.exit(1);
let ok = true;

if (both || flags.client) {
	console.log('== our client, their server');
	ok = await run('node_modules/vitest/vitest.mjs', 'run', '-t', 'stock', ...CONTRACT_TESTS, ...STOCK_TESTS);
	console.log('== our client, our hub, their server');
	ok = (await run('node_modules/vitest/vitest.mjs', 'run', 'test/hub/stock-executor.test.ts')) && ok;
}
if (both || flags.server) {
	console.log('== their client, our server');
	const enforcer = flags['sandbox-enforcer'] ?? 'auto';
	const serve = `exec '${process.execPath}' '${program}' serve --sandbox-enforcer ${enforcer} --listen`;
	const place = ['--server-cmd', `${serve} ws://127.0.0.1:0`, '--stdio-cmd', `${serve} stdio`];
	const sandbox = enforcer !== 'auto' || isSandboxHere() ? ['--own-sandbox'] : [];
	ok = (await run('test/interop/run.mjs', ...place, ...sandbox, '--json', theirClient)) && ok;
	console.log('== their client, our hub, our server');
	ok = (await run('test/interop/run.mjs', ...place, ...sandbox, '--hub', join(root, 'dist'))) && ok;
	console.log('== their client, our hub, their executor');
	ok = (await run('test/interop/run.mjs', '--hub', join(root, 'dist'), '--stock-forward', '--no-sandbox')) && ok;
}
if (existsSync(theirServer)) writeReport(readReport(theirServer));
if (existsSync(theirClient)) writeReport(toReport(readReport(theirClient).results));
process.exit(ok ? 0 : 1);

/** Whether our server has a sandbox on this machine, with bubblewrap or without. */
function isSandboxHere() {
	const {stdout} = spawnSync(process.execPath, [program, 'doctor', '--json'], {encoding: 'utf8'});
	return JSON.parse(stdout).some(({check, status}) => check === 'sandbox' && status === 'ok');
}

async function run(script, ...args) {
	const child = spawn(process.execPath, [join(root, script), ...args], {
		cwd: root,
		stdio: ['ignore', 'inherit', 'inherit'],
		env: {...process.env, CODEX_BIN, HOME: home, LONGARM_TEST_REPORT: theirServer},
	});
	const [status] = await once(child, 'close');
	return status === 0;
}
