// Tries longarm against the real peer: the stock codex server below our client, the stock codex client above our server.
//   npm run test:interop [-- --client | --server] [-- --json FOLDER]
// The peer is installed in a scratch folder on demand; CODEX_BIN names one that is there already.
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdirSync, readdirSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseArgs} from 'node:util';

const PEER = '@openai/codex@0.166.0';
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
const CODEX_BIN = process.env.CODEX_BIN ?? installed();
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

function installed() {
	const folder = join(tmpdir(), `longarm-interop-${PEER.replace(/[^\w.]/g, '-')}`);
	if (!existsSync(join(folder, 'node_modules'))) {
		console.log(`installing ${PEER}`);
		mkdirSync(folder, {recursive: true});
		const {status} = spawnSync(
			'npm',
			['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', PEER],
			{stdio: 'inherit'},
		);
		if (status !== 0) process.exit(status ?? 1);
	}
	const modules = join(folder, 'node_modules/@openai');
	for (const name of readdirSync(modules)) {
		const vendor = join(modules, name, 'vendor');
		const place =
			existsSync(vendor) &&
			readdirSync(vendor)
				.map(each => join(vendor, each, 'bin/codex'))
				.find(existsSync);
		if (place) return place;
	}
	throw new Error(`${PEER} has no program for this machine`);
}
