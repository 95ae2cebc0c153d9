// `longarm run -- cat` in a pipeline: known bytes go in and come out at once, in front of a reader that keeps up and one that stops.
//   node bench/pipes.mjs [--mib 1024] [--slow-mib 128] [--ways local,ws,cmd]      ends with a table, exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {readOptions} from './lib/options.mjs';
import {finish} from './lib/report.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {delay} from './lib/waiting.mjs';

/** Every byte says where it belongs: the length is odd, so that no two pieces begin in the same place. */
const PATTERN = randomBytes(1_048_573);
const DOUBLED = Buffer.concat([PATTERN, PATTERN]);
const PIECE_BYTES = 64 * 1024;
const MIB = 2 ** 20;
/** A slow reader stops after each so many MiB, for so long. */
const STOP_EVERY_MIB = 32;
const STOP_MS = 1000;
const LOOK_EVERY_MS = 50;
/** What the client and the server may take, whatever goes through them. */
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

/** What a command writes, in front of a reader that only counts. */
async function only(what, {way, place, server, mib}) {
	const total = mib * MIB;
	const began = performance.now();
	const child = start(place, ['head', '-c', String(total), '/dev/zero']);
	child.stdin.end();
	const memory = watchMemory(child.pid, server?.pid);
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
	const memory = watchMemory(child.pid, server?.pid);
	const feeding = feed(child.stdin, total);
	let [size, wrong, stopAt] = [0, 0, STOP_EVERY_MIB * MIB];
	for await (const chunk of child.stdout) {
		for (let at = 0; at < chunk.length; ) {
			const from = (size + at) % PATTERN.length;
			const length = Math.min(chunk.length - at, PATTERN.length);
			if (DOUBLED.compare(chunk, at, at + length, from, from + length) !== 0) wrong++;
			at += length;
		}
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
		const from = written % PATTERN.length;
		const length = Math.min(PIECE_BYTES, total - written);
		written += length;
		if (!stdin.write(DOUBLED.subarray(from, from + length))) await new Promise(resolve => stdin.once('drain', resolve));
	}
	stdin.end();
}

/** The most that the client and its server were seen to take. */
function watchMemory(client, server) {
	const most = {client: 0, server: 0};
	const look = () => {
		most.client = Math.max(most.client, rssOf(client));
		most.server = Math.max(most.server, rssOf(server ?? firstChildOf(client)));
	};
	const timer = setInterval(look, LOOK_EVERY_MS);
	return () => {
		clearInterval(timer);
		return most;
	};
}

function rssOf(pid) {
	const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`)) ?? [];
	return Number(kib ?? 0) / 1024;
}

/** A server behind a command; on this machine it is `cat` itself. */
function firstChildOf(pid) {
	return textOf(`/proc/${pid}/task/${pid}/children`).split(' ')[0];
}

function textOf(path) {
	try {
		return readFileSync(path, 'utf8');
	} catch {
		return '';
	}
}

function report(scenario, {total, size, wrong, code, ms, memory}) {
	const {client, server} = memory();
	const row = (what, value, kept = true) => rows.push([scenario, what, value, kept]);
	row('MiB, MiB/s', `${total / MIB}, ${(total / MIB / (ms / 1000)).toFixed(0)}`);
	row('bytes missing or too many, pieces wrong', `${total - size}, ${wrong}`, size === total && wrong === 0);
	row('exit code', code, code === 0);
	row(
		'RSS of client / server, most, MiB',
		`${client.toFixed(0)} / ${server.toFixed(0)}`,
		client < MAX_RSS_MIB && server < MAX_RSS_MIB,
	);
	console.error(`${scenario}: ${(ms / 1000).toFixed(1)} s`);
}
