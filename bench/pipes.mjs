// `longarm run -- cat` in a pipeline: known bytes go in and come out at once, in front of a reader that keeps up and one that stops.
//   node bench/pipes.mjs [--mib 1024] [--slow-mib 128] [--ways local,ws,cmd]      ends with a table, exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {RepeatedContent} from './lib/content.mjs';
import {MIB, watchMemory} from './lib/measure.mjs';
import {readOptions} from './lib/options.mjs';
import {childrenOf} from './lib/proc.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay} from './lib/waiting.mjs';

/** Its length is odd, so that no two pieces begin in the same place. */
const CONTENT = new RepeatedContent(randomBytes(1_048_573));
const PIECE_BYTES = 64 * 1024;
/** A slow reader stops after each so many MiB, for so long. */
const STOP_EVERY_MIB = 32;
const STOP_MS = 1000;
/** Of the client and of the server, however much goes through them. */
const MAX_RSS_MIB = 250;

const options = readOptions('Bytes through the pipes of a command somewhere else.', {
	mib: {default: 1024, help: 'MiB in front of a reader that keeps up'},
	slowMib: {default: 128, help: 'MiB in front of a reader that stops now and then'},
	ways: {default: 'local,ws,cmd', help: 'where the command runs'},
});

const rows = [];
for (const way of options.ways.split(',')) {
	const server = way === 'ws' ? await startServer() : undefined;
	const place = {
		local: 'local',
		ws: server?.url,
		cmd: `cmd:exec ${process.execPath} ${COMMAND.default} serve --listen stdio --log-level warn`,
	}[way];
	await only('out', {way, place, server, mib: options.mib});
	await both('both ways', {way, place, server, mib: options.mib, isSlow: false});
	await both('both ways, slow reader', {way, place, server, mib: options.slowMib, isSlow: true});
	await server?.stop();
}
finish(rows);

/** The output of a command, in front of a reader that only counts. */
async function only(what, {way, place, server, mib}) {
	const total = mib * MIB;
	const began = performance.now();
	const child = start(place, ['head', '-c', String(total), '/dev/zero']);
	child.stdin.end();
	const memory = watchBoth(child.pid, server?.pid);
	let size = 0;
	for await (const chunk of child.stdout) size += chunk.length;
	const {code} = await child.ended;
	report(`${way}: ${what}`, {total, size, wrong: 0, code, ms: performance.now() - began, memory});
}

/** Through `cat`, every byte compared. */
async function both(what, {way, place, server, mib, isSlow}) {
	const total = mib * MIB;
	const began = performance.now();
	const child = start(place, ['cat']);
	const memory = watchBoth(child.pid, server?.pid);
	const feeding = feed(child.stdin, total);
	let [size, wrong, stopAt] = [0, 0, STOP_EVERY_MIB * MIB];
	for await (const chunk of child.stdout) {
		if (!CONTENT.matches(chunk, size)) wrong++;
		size += chunk.length;
		if (!isSlow || size < stopAt) continue;
		stopAt += STOP_EVERY_MIB * MIB;
		await delay(STOP_MS);
	}
	await feeding;
	const {code} = await child.ended;
	report(`${way}: ${what}`, {total, size, wrong, code, ms: performance.now() - began, memory});
}

function start(place, argv) {
	const args = [COMMAND.default, 'run', '-e', place, '--', ...argv];
	const child = spawn(process.execPath, args, {stdio: ['pipe', 'pipe', 'inherit']});
	child.ended = new Promise(resolve => child.once('exit', (code, signal) => resolve({code: code ?? signal})));
	return child;
}

async function feed(stdin, total) {
	for (let written = 0; written < total; ) {
		const piece = CONTENT.slice(written, Math.min(PIECE_BYTES, total - written));
		written += piece.length;
		if (!stdin.write(piece)) await new Promise(resolve => stdin.once('drain', resolve));
	}
	stdin.end();
}

/** The server behind a command is the first child of the client; on this machine that is `cat` itself. */
function watchBoth(client, server) {
	return watchMemory(() => ({client, server: server ?? childrenOf(client)[0]}));
}

function report(scenario, {total, size, wrong, code, ms, memory}) {
	const {client, server} = memory.stop().most;
	const row = rowsOf(scenario);
	const isSmall = client < MAX_RSS_MIB && server < MAX_RSS_MIB;
	rows.push(
		row('MiB, MiB/s', `${total / MIB}, ${(total / MIB / (ms / 1000)).toFixed(0)}`),
		row('bytes missing or too many, pieces wrong', `${total - size}, ${wrong}`, size === total && wrong === 0),
		row('exit code', code, code === 0),
		row('RSS of client / server, most, MiB', `${client} / ${server}`, isSmall),
	);
	console.error(`${scenario}: ${(ms / 1000).toFixed(1)} s`);
}
