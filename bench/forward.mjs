// Promises of `longarm forward` about bulk: a GiB through a forwarded port each way, byte by byte, and a reader that stops
// in front of one while others go on, in bounded memory on both ends.
//   node bench/forward.mjs [down] [up] [stalled]     all three without arguments; ends with a table, exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {createHash, randomFillSync} from 'node:crypto';
import {once} from 'node:events';
import {connect, createServer} from 'node:net';
import {MIB, timed, watchMemory} from './lib/measure.mjs';
import {runScenarios} from './lib/scenarios.mjs';
import {COMMAND} from './lib/server.mjs';

const TOTAL_BYTES = 1024 * MIB;
/** Mostly what the collector lets lie: it is the same for twice as many bytes. */
const GROWTH_MIB = 160;
const CHUNK = randomFillSync(Buffer.alloc(MIB));

await runScenarios(
	'A GiB through `longarm forward` each way, and a reader that stops.',
	{down, up, stalled},
	{settings: ['--allow-forward', 'loopback']},
);

/** From the port there to a client here. */
async function down(server) {
	return measured(server, socket => void send(socket), receive);
}

/** From a client here to the port there, which answers with what it got. */
async function up(server) {
	return measured(server, answer, async socket => {
		await send(socket);
		return String(await collected(socket));
	});
}

async function answer(socket) {
	socket.end(await receive(socket));
}

/** One reader stops before its first byte; another reads all; then the first goes on. */
async function stalled(server) {
	return measured(
		server,
		socket => void send(socket),
		async (_socket, port) => {
			const slow = connect({port, host: '127.0.0.1'}).pause();
			await once(slow, 'connect');
			const quick = await receive(connect({port, host: '127.0.0.1'}));
			const late = await receive(slow);
			return quick === late ? late : 'different bytes';
		},
	);
}

async function measured(server, serve, use) {
	const origin = createServer({allowHalfOpen: true}, serve).listen(0, '127.0.0.1');
	await once(origin, 'listening');
	const forward = spawn(
		process.execPath,
		[COMMAND.default, 'forward', '-e', server.url, `0:${origin.address().port}`],
		{
			stdio: ['ignore', 'pipe', 'inherit'],
		},
	);
	const [line] = await once(forward.stdout, 'data');
	const port = Number(/:(\d+) ->/.exec(String(line))[1]);
	const memory = watchMemory(() => ({server: server.pid, forward: forward.pid}));
	const {result: digest, ms} = await timed(() =>
		use(use.length > 1 ? undefined : connect({port, host: '127.0.0.1', allowHalfOpen: true}), port),
	);
	const {before, most} = memory.stop();
	forward.kill('SIGTERM');
	await once(forward, 'exit');
	origin.close();
	const expected = expectedDigest();
	return [
		['MiB/s', (TOTAL_BYTES / MIB / (ms / 1000)).toFixed(0), true],
		['every byte', digest === expected ? 'yes' : 'no', digest === expected],
		...Object.keys(most).map(name => {
			const growth = most[name] - before[name];
			return [`growth of ${name}, MiB`, growth, growth <= GROWTH_MIB];
		}),
	];
}

async function send(socket) {
	for (let sent = 0; sent < TOTAL_BYTES; sent += CHUNK.length) {
		if (!socket.write(CHUNK)) await once(socket, 'drain');
	}
	socket.end();
}

/** The checksum of everything. */
async function receive(socket) {
	const hash = createHash('sha256');
	socket.on('data', chunk => hash.update(chunk)).resume();
	await once(socket, 'end');
	return hash.digest('hex');
}

async function collected(socket) {
	const chunks = [];
	socket.on('data', chunk => chunks.push(chunk));
	await once(socket, 'end');
	return Buffer.concat(chunks);
}

function expectedDigest() {
	const hash = createHash('sha256');
	for (let sent = 0; sent < TOTAL_BYTES; sent += CHUNK.length) hash.update(CHUNK);
	return hash.digest('hex');
}
