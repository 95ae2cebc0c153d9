// A hub whose lines break: those of clients and executors are cut and the hub is killed or ended and started again, also in
// the middle of a handshake or a recovery, while processes echo known bytes.
//   node bench/hub-cuts.mjs [--cuts 1000] [--processes 8] [--seed N] [--command FILE] [--stock] [--minutes N]
// ends with a table, exit 1 on a broken promise

import {SessionClient} from '../dist/index.js';
import {connectThroughHub} from '../dist/transports/node/relay/connect-through-hub.js';
import {findStockCodex} from '../scripts/lib/stock-codex.mjs';
import {EchoTrial} from './lib/echo-trial.mjs';
import {HubTrial} from './lib/hub-trial.mjs';
import {MIB, toMib} from './lib/measure.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {Random} from './lib/random.mjs';
import {COMMAND} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay, until, within} from './lib/waiting.mjs';

/** A promise that has not settled by then never will. */
const MAX_WAIT_MS = 60_000;
const SHARES = {hub: 0.05, executor: 0.3};
/** Share of cuts that do not wait until the client is back. */
const HASTY_SHARE = 0.5;
/**
 * A stock executor waits up to 1, 2, 4, 8 s and so on after each loss, and forgets that after a connection of two minutes;
 * with a pause above 25 s a client before codex 0.169 would not wait for it. A hub that is started again may cost it two.
 */
const STOCK = {maxSteps: 4, forgetsAfterMs: 130_000};
/** Read back before the first cut. */
const FIRST_BYTES = MIB;
const KINDS = ['client', 'executor', 'hub'];

const {cuts, processes, seed, command, stock, minutes} = readOptions('Streams through a hub whose lines break.', {
	cuts: {default: 1000, help: 'how often something breaks'},
	processes: {default: 8, help: 'processes that echo at the same time'},
	seed: SEED,
	command: COMMAND,
	stock: {default: false, help: 'an executor of the stock program, which is installed on demand'},
	minutes: {default: 60, help: 'end after so long, whatever the cuts'},
});
console.error(`seed ${seed}`);
const random = new Random(seed);
const hub = await HubTrial.start({command, codex: stock && findStockCodex(), random});
const began = performance.now();

let connections = 0;
const client = await SessionClient.open(async signal => {
	const transport = await connectThroughHub(hub.target, signal);
	connections++;
	return transport;
});
const recoveries = [];
client.onDisconnect(() => {
	const lostAt = performance.now();
	const tell = () => recoveries.push(performance.now() - lostAt);
	client.recovered().then(tell, tell);
});
const trial = new EchoTrial(client);
const {totals} = trial;
const done = {client: 0, executor: 0, hub: 0};
let steps = 0;
let executorLostAt = Number.NEGATIVE_INFINITY;
const echoes = Array.from({length: processes}, (_, index) => trial.echo(`p${index}`, random.fork()));
// On a busy machine cuts would leave no time to begin.
await within(
	MAX_WAIT_MS,
	'the first bytes',
	until(() => totals.read >= FIRST_BYTES, {everyMs: 5}),
);
for (let count = 0; count < cuts && performance.now() - began < minutes * 60_000; count++) {
	const isHasty = !stock && random.chance(HASTY_SHARE);
	const isBack = () => isHasty || client.state !== 'recovering';
	await within(MAX_WAIT_MS, 'the recovery of the client', until(isBack, {everyMs: 5}));
	if (client.state === 'failed' || hub.executorEnd !== undefined) break;
	await delay(random.size(5, 250));
	await breakSomething();
	if (count % 100 === 99) console.error(`${count + 1} cuts, ${toMib(totals.read)} MiB read`);
}
const executorEnd = hub.executorEnd;
trial.end();
const outcomes = await Promise.allSettled(echoes.map(each => within(MAX_WAIT_MS, 'the end of an echo', each)));
client.close();
await within(MAX_WAIT_MS, 'the end of the client', client.ended);
hub.stop();
const hanging = outcomes.filter(({status}) => status === 'rejected');
for (const {reason} of hanging) console.error(reason);
const row = rowsOf(stock ? 'hub-cuts, stock executor' : 'hub-cuts');
const sorted = recoveries.toSorted((one, other) => one - other);
finish([
	row('seconds (seed)', `${((performance.now() - began) / 1000).toFixed(0)} (${seed})`),
	row('cuts of client / executor / hub', KINDS.map(kind => done[kind]).join(' / ')),
	row('connections made', connections),
	row('recoveries, ms p50 / longest', `${sorted.length}, ${toMs(sorted[sorted.length >> 1])} / ${toMs(sorted.at(-1))}`),
	row('MiB written / read back', `${toMib(totals.written, 1)} / ${toMib(totals.read, 1)}`),
	row('bytes announced as gone, in gaps', `${totals.missed} in ${totals.gaps}`),
	row('bytes neither read nor announced', trial.unaccounted, trial.unaccounted === 0),
	row('chunks with a wrong byte', totals.wrong, totals.wrong === 0),
	row('processes lost', totals.failed, totals.failed === 0),
	row('promises left hanging or broken', hanging.length, hanging.length === 0),
	row('executor', executorEnd === undefined ? 'alive' : `ended with ${executorEnd}`, executorEnd === undefined),
]);

/** The line of the client in most cases, that of the executor in some, and the whole hub now and then. */
async function breakSomething() {
	const kind = mayCostTheExecutor() ? pickKind() : 'client';
	done[kind]++;
	if (kind === 'hub') await hub.restartHub(random.pick(['SIGTERM', 'SIGKILL']));
	else hub.lines[kind].cut();
	if (kind === 'client') return;
	executorLostAt = performance.now();
	steps += kind === 'hub' ? 2 : 1;
}

function pickKind() {
	if (random.chance(SHARES.hub)) return 'hub';
	return random.chance(SHARES.executor) ? 'executor' : 'client';
}

/** Whether the executor comes back in time if its socket breaks. */
function mayCostTheExecutor() {
	if (!stock) return true;
	if (performance.now() - executorLostAt > STOCK.forgetsAfterMs) steps = 0;
	return steps < STOCK.maxSteps;
}

function toMs(ms = 0) {
	return ms.toFixed(0);
}
