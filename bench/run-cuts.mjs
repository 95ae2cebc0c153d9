// `longarm run` in a pipeline on a line that is cut all the time: every byte, or an exit code that says so.
//   node bench/run-cuts.mjs [--cuts 500] [--commands 4] [--mib 24] [--clock-jumps] [--seed N]      exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {rmSync, writeFileSync} from 'node:fs';
import {connect as connectTcp, createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {JumpingClock} from './lib/clock-jumps.mjs';
import {RepeatedContent} from './lib/content.mjs';
import {toMib} from './lib/measure.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {Random} from './lib/random.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';

const MIB = 1024 * 1024;
const CONTENT = new RepeatedContent(Buffer.from(Array.from({length: 65_521}, (_, index) => (index * 7919) % 251)));

const {cuts, commands, mib, clockJumps, seed} = readOptions('`longarm run` in pipelines on a line that is cut.', {
	cuts: {default: 500, help: 'how often the line breaks, at least'},
	commands: {default: 4, help: 'commands at a time'},
	mib: {default: 24, help: 'output of a command'},
	clockJumps: {default: false, help: 'the clocks of both ends jump by an hour all the time; needs libfaketime'},
	seed: SEED,
});
console.error(`seed ${seed}`);
const random = new Random(seed);
const began = performance.now();
const [serverClock, clientClock] = [1, 2].map(() => (clockJumps ? new JumpingClock(random.fork()) : undefined));
const server = await startServer({logLevel: 'error', wrap: argv => serverClock?.wrap(argv) ?? argv});
const content = join(tmpdir(), `longarm-run-cuts-${process.pid}`);
writeFileSync(content, CONTENT.slice(0, mib * MIB));
const line = await openLine(new URL(server.url));
const totals = {runs: 0, bytes: 0, failed: 0, wrong: 0, silent: 0};
while (line.cuts < cuts) await Promise.all(Array.from({length: commands}, () => runOne(random.fork())));
line.close();
await server.stop();
rmSync(content, {force: true});
serverClock?.stop();
clientClock?.stop();
const row = rowsOf('run over cuts');
finish([
	row('seconds (seed)', `${((performance.now() - began) / 1000).toFixed(0)} (${seed})`),
	row('commands / cuts', `${totals.runs} / ${line.cuts}`),
	row('MiB read', toMib(totals.bytes)),
	row('commands that ended with 0 / otherwise', `${totals.runs - totals.failed} / ${totals.failed}`),
	row('wrong bytes', totals.wrong, totals.wrong === 0),
	row('exits with 0 and bytes missing', totals.silent, totals.silent === 0),
]);

/** A command whose output is read with pauses. */
async function runOne(chance) {
	const run = [process.execPath, COMMAND.default, 'run', '-e', line.url, '--', 'cat', content];
	const [file, ...args] = clientClock?.wrap(run) ?? run;
	const child = spawn(file, args, {stdio: ['ignore', 'pipe', 'pipe']});
	let [offset, stderr] = [0, ''];
	child.stderr.setEncoding('utf8').on('data', text => (stderr += text));
	child.stdout.on('data', bytes => {
		if (!CONTENT.matches(bytes, offset)) totals.wrong++;
		offset += bytes.length;
		if (!chance.chance(0.02)) return;
		child.stdout.pause();
		setTimeout(() => child.stdout.resume(), chance.size(1, 150));
	});
	const code = await new Promise(resolve => child.once('close', resolve));
	totals.runs++;
	totals.bytes += offset;
	if (code === 0 && offset !== mib * MIB) totals.silent++;
	if (code === 0) return;
	totals.failed++;
	console.error(`exit ${code} after ${offset} bytes: ${stderr.slice(-300)}`);
}

/** A line that passes on some hundred KiB to some MiB of each connection and cuts it then. */
async function openLine({hostname, port}) {
	const open = new Set();
	const state = {cuts: 0};
	const listener = createServer(near => {
		const far = connectTcp({host: hostname, port: Number(port)});
		open.add(near).add(far);
		let left = random.size(100_000, 4_000_000);
		for (const [from, to] of [
			[near, far],
			[far, near],
		]) {
			from.on('error', () => to.destroy());
			from.on('close', () => to.destroy());
			from.pipe(to);
		}
		far.on('data', data => {
			left -= data.length;
			if (left > 0 || near.destroyed) return;
			state.cuts++;
			near.destroy();
			far.destroy();
			open.delete(near);
			open.delete(far);
		});
	});
	await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve));
	return Object.assign(state, {
		url: `ws://127.0.0.1:${listener.address().port}`,
		close() {
			for (const socket of open) socket.destroy();
			listener.close();
		},
	});
}
