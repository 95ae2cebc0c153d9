// A hub whose relay breaks: sockets of clients and executors are cut and the hub is started again while processes echo known bytes.
//   node bench/hub-cuts.mjs [--cuts 1000] [--processes 8] [--seed N] [--command FILE]   ends with a table, exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Hub} from '../dist/hub/hub.js';
import {SessionClient} from '../dist/index.js';
import {connectThroughHub} from '../dist/transports/node/relay/connect-through-hub.js';
import {EchoTrial} from './lib/echo-trial.mjs';
import {toMib} from './lib/measure.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {Random} from './lib/random.mjs';
import {COMMAND} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay, until, within} from './lib/waiting.mjs';

const ENVIRONMENT = 'devbox';
/** A promise that has not settled by then never will. */
const MAX_WAIT_MS = 60_000;
const KINDS = ['client', 'executor', 'hub'];

const {cuts, processes, seed, command} = readOptions('Streams through a hub whose relay breaks all the time.', {
	cuts: {default: 1000, help: 'how often something breaks'},
	processes: {default: 8, help: 'processes that echo at the same time'},
	seed: SEED,
	command: COMMAND,
});
console.error(`seed ${seed}`);
const random = new Random(seed);
const scratch = mkdtempSync(join(tmpdir(), 'longarm-hub-cuts-'));
// Keys of this trial, and not those of the user.
process.env.XDG_STATE_HOME = scratch;
const data = join(scratch, 'hub');
let {hub, url} = await startHub(0);
const tokenFile = join(scratch, 'executor.token');
writeFileSync(tokenFile, hub.tokens.create('executor', ENVIRONMENT).token, {mode: 0o600});
const token = hub.tokens.create('client', ENVIRONMENT).token;
const serve = ['serve', '--remote', url, '--environment-id', ENVIRONMENT, '--token-file', tokenFile];
const executor = spawn(process.execPath, [command, ...serve, '--log-level', 'error'], {
	stdio: ['ignore', 'ignore', 'inherit'],
});
process.on('exit', () => executor.kill('SIGKILL'));
await until(() => hub.relay.findExecutor(ENVIRONMENT));
const began = performance.now();

let connections = 0;
const target = {kind: 'registry', url: `registry+${url}/${ENVIRONMENT}`, token};
const client = await SessionClient.open(async signal => {
	const transport = await connectThroughHub(target, signal);
	connections++;
	return transport;
});
const trial = new EchoTrial(client);
const {totals} = trial;
const done = {client: 0, executor: 0, hub: 0};
const echoes = Array.from({length: processes}, (_, index) => trial.echo(`p${index}`, random.fork()));
for (let count = 0; count < cuts; count++) {
	// Now and then in the middle of a recovery, but not in all of them: each has to be done in 25 seconds.
	const mayRecover = count > 0 && random.chance(0.2);
	const isBack = () => uncut().length > 0 && (mayRecover || client.state === 'connected');
	await within(MAX_WAIT_MS, 'a client of the executor', until(isBack, {everyMs: 5}));
	await delay(random.size(5, 250));
	await breakSomething();
	if (count % 100 === 99) console.error(`${count + 1} cuts, ${toMib(totals.read)} MiB read`);
}
trial.end();
const outcomes = await Promise.allSettled(echoes.map(each => within(MAX_WAIT_MS, 'the end of an echo', each)));
client.close();
await within(MAX_WAIT_MS, 'the end of the client', client.ended);
executor.kill('SIGTERM');
await hub.close();
rmSync(scratch, {recursive: true, force: true});
const hanging = outcomes.filter(({status}) => status === 'rejected');
for (const {reason} of hanging) console.error(reason);
const row = rowsOf('hub-cuts');
finish([
	row('seconds (seed)', `${((performance.now() - began) / 1000).toFixed(0)} (${seed})`),
	row('cuts of client / executor / hub', KINDS.map(kind => done[kind]).join(' / ')),
	row('connections made', connections),
	row('MiB written / read back', `${toMib(totals.written, 1)} / ${toMib(totals.read, 1)}`),
	row('bytes announced as gone, in gaps', `${totals.missed} in ${totals.gaps}`),
	row('bytes neither read nor announced', trial.unaccounted, trial.unaccounted === 0),
	row('chunks with a wrong byte', totals.wrong, totals.wrong === 0),
	row('processes lost', totals.failed, totals.failed === 0),
	row('promises left hanging or broken', hanging.length, hanging.length === 0),
]);

/** The socket of the client in most cases, that of the executor in some, and the whole hub now and then. */
async function breakSomething() {
	const kind = random.chance(0.05) ? 'hub' : random.chance(0.3) ? 'executor' : 'client';
	done[kind]++;
	const reason = new Error('cut by the trial');
	if (kind === 'client') for (const {socket} of uncut()) socket.destroy(reason);
	else if (kind === 'executor') hub.relay.findExecutor(ENVIRONMENT)?.socket.destroy(reason);
	else {
		await hub.close();
		({hub, url} = await startHub(Number(new URL(url).port)));
	}
}

/** Clients of the executor that were not cut yet. */
function uncut() {
	const ends = [...(hub.relay.findExecutor(ENVIRONMENT)?.streams.values() ?? [])];
	return ends.filter(({socket}) => socket.isOpen);
}

async function startHub(port) {
	const started = new Hub({host: '127.0.0.1', port, data});
	return {hub: started, url: await started.listen()};
}
