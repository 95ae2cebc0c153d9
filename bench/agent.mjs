// One hundred rows with 64 workers, run by `longarm agent run` against a mock model: exit 0 and 101 lines, every time.
//   node bench/agent.mjs [--runs 10] [--delay-ms 500] [--without-stock]      exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {stockCodex} from '../scripts/lib/stock-codex.mjs';
import {startSeedResponder} from '../test/vectors/seed-responder.mjs';
import {readOptions} from './lib/options.mjs';
import {COMMAND, startServer, startServerCommand} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';

const {runs, delayMs, withoutStock, command} = readOptions('Agents over one hundred rows, 64 at a time.', {
	runs: {default: 10, help: 'runs in each place'},
	delayMs: {
		default: 500,
		help: 'time the model takes per request in one more run, to see how many workers wait for it',
	},
	withoutStock: {default: false, help: 'leave out the stock exec server'},
	command: COMMAND,
});
const [ROWS, WORKERS] = [100, 64];
/** Limit of one run. */
const MAX_RUN_MS = 60_000;

const folder = scratchFolder('agent');
const input = join(folder, 'in.csv');
writeFileSync(input, `name\n${Array.from({length: ROWS}, (_, index) => `cat_${index + 1}\n`).join('')}`);
const rows = [];
let count = 0;

await measure('this machine', []);
const servers = await Promise.all([startServer({command, echo: false}), startServer({command, echo: false})]);
const [one, other] = servers.map(({url}) => url);
await measure('two longarm servers', ['-e', one, '--executor', one, '--executor', other]);
if (!withoutStock) {
	process.env.CODEX_HOME = join(folder, 'codex');
	mkdirSync(process.env.CODEX_HOME);
	const stock = await startServerCommand([stockCodex(), 'exec-server', '--listen', 'ws://127.0.0.1:0'], {echo: false});
	servers.push(stock);
	await measure('a stock exec server', ['-e', stock.url]);
}
await Promise.all(servers.map(server => server.stop()));
finish(rows);

async function measure(place, where) {
	const row = rowsOf(place);
	for (const mode of ['normal', 'command']) {
		const what = mode === 'normal' ? 'workers that report' : 'workers that run a command first';
		const all = [];
		for (let run = 0; run < runs; run++) all.push(await runOnce(where, {mode}));
		const right = all.filter(isRight).length;
		const slowest = Math.max(...all.map(({ms}) => ms));
		rows.push(row(`${what}: exit 0 and ${ROWS + 1} lines`, `${right} of ${runs}`, right === runs));
		rows.push(row(`${what}: slowest run`, `${(slowest / 1000).toFixed(2)} s`, slowest < MAX_RUN_MS));
	}
	const delayed = await runOnce(where, {mode: 'normal', delayMs});
	const peak = delayed.stats.maxInflight;
	rows.push(row(`model takes ${delayMs} ms: requests in flight`, peak, isRight(delayed) && peak >= WORKERS));
	rows.push(row(`model takes ${delayMs} ms: time`, `${(delayed.ms / 1000).toFixed(2)} s`));
}

function isRight({code, lines, completed, stats}) {
	return code === 0 && lines === ROWS + 1 && completed === ROWS && stats.main === 1 && stats.worker === ROWS;
}

async function runOnce(where, seed) {
	const output = join(folder, `out-${count++}.csv`);
	const spawnArgs = {
		csv_path: input,
		instruction: 'Write a line about {name}.',
		output_csv_path: output,
		max_concurrency: WORKERS,
	};
	const responder = await startSeedResponder({spawnArgs, ...seed});
	const model = ['--base-url', responder.baseUrl, '--api-key-env', 'MOCK_KEY', '--model', 'gpt-5'];
	const args = [command, 'agent', 'run', ...model, '--job-dir', join(folder, 'jobs'), ...where, 'go'];
	const began = performance.now();
	const child = spawn(process.execPath, args, {
		stdio: ['ignore', 'ignore', 'ignore'],
		env: {...process.env, MOCK_KEY: 'any-key'},
		timeout: MAX_RUN_MS,
		killSignal: 'SIGKILL',
	});
	const [code] = await once(child, 'exit');
	const ms = performance.now() - began;
	await responder.close();
	const text = existsSync(output) ? readFileSync(output, 'utf8') : '';
	const completed = text.match(/,completed,1,,/g)?.length ?? 0;
	return {code, ms, lines: text.split('\n').length - 1, completed, stats: responder.stats};
}
