// The client library on a bad line: it is cut, delays and splits, and what it tells of processes comes in another order.
//   node bench/cuts.mjs [--cuts 1000] [--processes 8] [--seed N] [--server "CMD"]      ends with a table, exit 1 on a broken promise
import {connectWebSocket, SessionClient} from '../dist/index.js';
import {BrokenLine} from './lib/broken-line.mjs';
import {EchoTrial} from './lib/echo-trial.mjs';
import {toMib} from './lib/measure.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {Random} from './lib/random.mjs';
import {COMMAND, startServerCommand} from './lib/server.mjs';
import {shuffled} from './lib/shuffled-transport.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay, until, within} from './lib/waiting.mjs';

/** A promise that has not settled by then never will. */
const MAX_WAIT_MS = 60_000;

const {
	cuts,
	processes,
	seed,
	server: command,
} = readOptions('The client library on a line that breaks all the time.', {
	cuts: {default: 1000, help: 'how often the line breaks'},
	processes: {default: 8, help: 'processes that echo at the same time'},
	seed: SEED,
	server: {default: `${process.execPath} ${COMMAND.default} serve --log-level warn`, help: 'the server to try'},
});
console.error(`seed ${seed}`);
const random = new Random(seed);
const server = await startServerCommand(['sh', '-c', `exec ${command}`]);
const proxy = await BrokenLine.to(server.url, random);
const began = performance.now();

const lines = [];
const client = await SessionClient.open(async signal => {
	const line = shuffled(await connectWebSocket(proxy.url, {signal, timeoutMs: 2000}), random.fork());
	lines.push(line);
	return line;
});
const trial = new EchoTrial(client);
const {totals} = trial;
const echoes = Array.from({length: processes}, (_, index) => trial.echo(`p${index}`, random.fork()));
for (let count = 0; count < cuts; count++) {
	await delay(random.size(5, 250));
	await until(() => proxy.isUsed, {everyMs: 5});
	proxy.cut();
	if (count % 100 === 99) console.error(`${count + 1} cuts, ${toMib(totals.read)} MiB read`);
}
trial.end();
const outcomes = await Promise.allSettled(echoes.map(each => within(MAX_WAIT_MS, 'the end of an echo', each)));
client.close();
await within(MAX_WAIT_MS, 'the end of the client', client.ended);
proxy.close();
await server.stop();
const hanging = outcomes.filter(({status}) => status === 'rejected');
for (const {reason} of hanging) console.error(reason);
const row = rowsOf('cuts');
finish([
	row('seconds (seed)', `${((performance.now() - began) / 1000).toFixed(0)} (${seed})`),
	row('cuts / connections made', `${cuts} / ${proxy.connections}`),
	row(
		'notifications shuffled',
		lines.reduce((sum, {held}) => sum + held, 0),
	),
	row('MiB written / read back', `${toMib(totals.written, 1)} / ${toMib(totals.read, 1)}`),
	row('bytes announced as gone, in gaps', `${totals.missed} in ${totals.gaps}`),
	row('bytes neither read nor announced', trial.unaccounted, trial.unaccounted === 0),
	row('chunks with a wrong byte', totals.wrong, totals.wrong === 0),
	row('processes lost', totals.failed, totals.failed === 0),
	row('promises left hanging or broken', hanging.length, hanging.length === 0),
]);
