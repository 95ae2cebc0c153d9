// The client library on a bad line: it is cut, delays and splits, and what it tells of processes comes in another order.
//   node bench/cuts.mjs [--cuts 1000] [--processes 8] [--seed N] [--server "CMD"]      ends with a table, exit 1 on a broken promise
import {connect as connectTcp, createServer} from 'node:net';
import {connectWebSocket, SessionClient} from '../dist/index.js';
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
const proxy = await startProxy(new URL(server.url));
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
	await until(() => proxy.isUsed(), {everyMs: 5});
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
	row('cuts / connections made', `${cuts} / ${proxy.connections()}`),
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

/** Passes bytes on, late and in pieces, until it is told to break every connection. */
async function startProxy({hostname, port}) {
	const open = new Set();
	let count = 0;
	const listener = createServer(near => {
		count++;
		const far = connectTcp({host: hostname, port: Number(port)});
		open.add(near).add(far);
		passOn(near, far);
		passOn(far, near);
	});
	await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve));
	return {
		url: `ws://127.0.0.1:${listener.address().port}`,
		connections: () => count,
		isUsed: () => [...open].some(socket => !socket.destroyed),
		cut() {
			for (const socket of open) socket.destroy();
			open.clear();
		},
		close() {
			this.cut();
			listener.close();
		},
	};
}

function passOn(from, to) {
	from.on('error', () => to.destroy());
	from.on('close', () => to.destroy());
	from.on('data', async data => {
		from.pause();
		for (let at = 0; at < data.length && !to.destroyed; ) {
			const size = random.chance(0.2) ? random.size(1, 5000) : data.length;
			if (random.chance(0.02)) await delay(random.size(1, 30));
			const isTaken = to.write(data.subarray(at, at + size));
			at += size;
			if (!isTaken) await new Promise(resolve => to.once('drain', resolve).once('close', resolve));
		}
		from.resume();
	});
}
