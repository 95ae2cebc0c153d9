// Tries longarm against the real peer: the stock codex server below our client, the stock codex client above our server.
//   npm run test:interop [-- --client | --server] [-- --json FOLDER]
// The peer is installed in a scratch folder on demand; CODEX_BIN names one that is there already. With --json the
// folder gets their-server.json, the report of vitest, and their-client.json, `{results: [{name, status, reason, ms}]}`.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {stockCodex} from './lib/stock-codex.mjs';

/** What runs against every kind of server, the stock one included. */
const SUITES = [
	'test/client/contract.test.ts',
	'test/client/run',
	'test/client/files',
	'test/client/http',
	'test/client/unified-exec',
	'test/mcp',
];

const root = fileURLToPath(new URL('..', import.meta.url));
const program = join(root, 'dist/bin/longarm.js');
const {values: flags} = parseArgs({
	options: {client: {type: 'boolean'}, server: {type: 'boolean'}, json: {type: 'string'}},
});
const both = !flags.client && !flags.server;
const CODEX_BIN = stockCodex();
const report = flags.json && resolve(flags.json);
if (report) mkdirSync(report, {recursive: true});
// Commands run in login shells: the profile of the caller is not part of the test.
const home = mkdtempSync(join(tmpdir(), 'longarm-interop-home-'));
let ok = existsSync(program) || (await run('scripts/build.mjs'));

if (ok && (both || flags.client)) {
	console.log('== our client, their server');
	const reporters = report
		? ['--reporter=default', '--reporter=json', `--outputFile=${join(report, 'their-server.json')}`]
		: [];
	ok = (await run('node_modules/vitest/vitest.mjs', 'run', '-t', 'stock', ...reporters, ...SUITES)) && ok;
}
if (both || flags.server) {
	console.log('== their client, our server');
	const serve = `exec '${process.execPath}' '${program}' serve --listen`;
	const place = ['--server-cmd', `${serve} ws://127.0.0.1:0`, '--stdio-cmd', `${serve} stdio`];
	const reported = report ? ['--json', join(report, 'their-client.json')] : [];
	ok = (await run('test/interop/run.mjs', ...place, ...reported)) && ok;
}
rmSync(home, {recursive: true, force: true});
process.exit(ok ? 0 : 1);

async function run(script, ...args) {
	const child = spawn(process.execPath, [join(root, script), ...args], {
		cwd: root,
		stdio: ['ignore', 'inherit', 'inherit'],
		env: {...process.env, CODEX_BIN, HOME: home},
	});
	const [status] = await once(child, 'close');
	return status === 0;
}
