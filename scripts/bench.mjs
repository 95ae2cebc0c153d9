// Measures the built server side by side with the real peer and with the least a Node server can do.
//   npm run bench             small sizes, two repetitions, less than two minutes
//   npm run bench:full        full sizes, five repetitions, and the peer with its best setting for parallel work
// Everything behind -- is passed on: npm run bench -- --only fs_io --reps 3
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {stockCodex} from './lib/stock-codex.mjs';

const root = new URL('..', import.meta.url).pathname;
const suite = join(root, '../shared/bench/bench.mjs');
if (!existsSync(suite)) {
	console.error('there is no suite to measure with beside this repository');
	process.exit(1);
}
const isFull = process.argv.includes('--full');
const asked = process.argv.slice(2).filter(argument => argument !== '--full');
const codex = `exec ${stockCodex()} exec-server --listen ws://127.0.0.1:0`;
const servers = {
	codex,
	...(isFull && {'codex-64': `${codex} --concurrent-requests 64`}),
	// The suite reads 64 MiB in one message, which is more than stock clients take and we send unasked.
	longarm: `exec ${process.execPath} ${join(root, 'dist/bin/longarm.js')} serve --listen ws://127.0.0.1:0 --max-reply 128MiB`,
	floor: `exec ${process.execPath} ${join(root, '../shared/bench/floor.mjs')} --best`,
};
const places = Object.entries(servers).flatMap(([name, command]) => ['--server', `${name}=${command}`]);
const sizes = isFull ? ['--reps', '5'] : ['--quick', '--reps', '2'];
// Every Node program reads all the certificates this names before anything else, for tens of milliseconds.
const {NODE_EXTRA_CA_CERTS: _certificates, ...variables} = process.env;
const {status} = spawnSync(process.execPath, [suite, ...sizes, ...places, ...asked], {
	stdio: 'inherit',
	env: variables,
});
process.exit(status ?? 1);
