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
/** Scenarios that are run through forwarders, too: a command, a terminal, files, HTTP and a lost connection. */
const FORWARDED = 'a,b,d,l,m-reconnect';
const both = !flags.client && !flags.server;
const CODEX_BIN = stockCodex();
// Commands run in login shells: the profile of the caller is not part of the test.
const scratch = scratchFolder('interop-run');
const home = mkdtempSync(join(scratch, 'home-'));
const theirServer = join(scratch, 'their-server.json');
if (!existsSync(program) && !(await run('scripts/build.mjs'))) process.exit(1);
let ok = true;

if (both || flags.client) {
	console.log('== our client, their server');
	ok = await run('node_modules/vitest/vitest.mjs', 'run', '-t', 'stock', ...CONTRACT_TESTS, ...STOCK_TESTS);
}
if (both || flags.server) {
	const enforcer = flags['sandbox-enforcer'] ?? 'auto';
	const serve = `exec '${process.execPath}' '${program}' serve --sandbox-enforcer ${enforcer} --listen`;
	const place = ['--server-cmd', `${serve} ws://127.0.0.1:0`, '--stdio-cmd', `${serve} stdio`];
	const sandbox = enforcer !== 'auto' || isSandboxHere() ? ['--own-sandbox'] : [];
	const hub = ['--hub', join(root, 'dist')];
	const ours = `exec '${process.execPath}' '${program}' serve --sandbox-enforcer ${enforcer}`;
	await rig('their client, our server', ...place, ...sandbox);
	await rig('their client, our hub, our server', ...hub, ...sandbox, '--remote-cmd', ours);
	await rig('their client, our hub, their server', ...hub, '--remote-cmd', `exec '${CODEX_BIN}' exec-server`);
	const some = [...hub, ...place, '--only', FORWARDED];
	await rig('their client, our hub, our forwarder', ...some);
	await rig('their client, our hub, their forwarder', ...some, '--stock-forward');
}
if (existsSync(theirServer)) writeReport(readReport(theirServer));
process.exit(ok ? 0 : 1);

/** Runs scenarios of the stock client. */
async function rig(title, ...args) {
	console.log(`== ${title}`);
	const results = join(mkdtempSync(join(scratch, 'rig-')), 'results.json');
	ok = (await run('test/interop/run.mjs', ...args, '--json', results)) && ok;
	const named = readReport(results).results?.map(({name, ...rest}) => ({...rest, name: `${title}: ${name}`}));
	if (named) writeReport(toReport(named));
}

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
