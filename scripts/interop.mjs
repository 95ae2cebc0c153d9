// Tries longarm against the real peer: the stock codex server below our client, the stock codex client above our server.
//   npm run test:interop [-- --client | --server] [-- --json FOLDER]
// The peer is installed in a scratch folder on demand; CODEX_BIN names one that is there already.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
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

const root = new URL('..', import.meta.url).pathname;
const rig = join(root, '../shared/interop/run.mjs');
const {values: flags} = parseArgs({
	options: {client: {type: 'boolean'}, server: {type: 'boolean'}, json: {type: 'string'}},
});
const both = !flags.client && !flags.server;
const CODEX_BIN = stockCodex();
const command = `${process.execPath} ${join(root, 'dist/bin/longarm.js')} serve`;
let ok = true;

if (both || flags.client) {
	console.log('== our client, their server');
	const report = flags.json
		? ['--reporter=default', '--reporter=json', `--outputFile=${join(flags.json, 'their-server.json')}`]
		: [];
	await run('npx', ['vitest', 'run', '-t', 'stock', ...report, ...SUITES]);
}
if (both || flags.server) {
	console.log('== their client, our server');
	if (existsSync(rig)) {
		const place = ['--server-cmd', `${command} --listen ws://127.0.0.1:0`, '--stdio-cmd', `${command} --listen stdio`];
		const said = await run(process.execPath, [rig, ...place]);
		const [, passed, failed] = /(\d+) passed, (\d+) failed/.exec(said) ?? [];
		if (flags.json) writeFileSync(join(flags.json, 'their-client.json'), JSON.stringify({passed, failed}));
	} else console.log('skipped: there is no rig to drive the stock client');
}
process.exit(ok ? 0 : 1);

async function run(program, args) {
	const child = spawn(program, args, {
		cwd: root,
		stdio: ['ignore', 'pipe', 'inherit'],
		env: {...process.env, CODEX_BIN},
	});
	let said = '';
	child.stdout.setEncoding('utf8').on('data', text => {
		said += text;
		process.stdout.write(text);
	});
	const [status] = await once(child, 'close');
	ok &&= status === 0;
	return said;
}
