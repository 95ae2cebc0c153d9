// What the server promises under load, checked byte by byte against the built command.
//   node bench/stress.mjs [many] [slow-reader] [pty]      all three without arguments; ends with a table, exit 1 on a broken promise
import {spawn} from 'node:child_process';
import {readdirSync, readFileSync, readlinkSync} from 'node:fs';
import {WebSocket} from 'ws';

const MiB = 1024 * 1024;
const SCENARIOS = {many, 'slow-reader': slowReader, pty};

const chosen = process.argv.slice(2);
const rows = [];
for (const name of chosen.length > 0 ? chosen : Object.keys(SCENARIOS)) {
	if (!SCENARIOS[name]) throw new Error(`unknown scenario ${name}; known are ${Object.keys(SCENARIOS).join(', ')}`);
	const server = await startServer();
	const began = performance.now();
	try {
		for (const [what, value, ok] of await SCENARIOS[name](server)) rows.push([name, what, value, ok]);
	} finally {
		server.stop();
	}
	rows.push([name, 'seconds', ((performance.now() - began) / 1000).toFixed(1), true]);
}
console.log('\n| scenario | what | value | kept |\n|---|---|--:|---|');
for (const [scenario, what, value, ok] of rows)
	console.log(`| ${scenario} | ${what} | ${value} | ${ok ? 'yes' : '**NO**'} |`);
process.exit(rows.every(row => row[3]) ? 0 : 1);

/** 10,000 short processes, 64 at a time over one connection, half of them on terminals, each printing a known amount. */
async function many({url, pid}) {
	const total = 10_000;
	const client = await connect(url);
	await client.run({id: 'warm-up', script: 'printf x'});
	const before = observe(pid);
	let [bytes, events, wrong] = [0, 0, 0];
	await inParallel(total, 64, async index => {
		const size = ((index * 7919) % 20_000) + 1;
		const exitCode = index % 200;
		const result = await client.run({
			id: `p${index}`,
			script: `printf %0${size}d 0; exit ${exitCode}`,
			tty: index % 2 === 1,
		});
		bytes += result.bytes;
		events += result.events;
		if (result.bytes !== size || result.exitCode !== exitCode || !result.inOrder) wrong++;
		if (index % 1000 === 999) console.error(`many: ${index + 1} of ${total}`);
	});
	const expected = Array.from({length: total}, (_, index) => ((index * 7919) % 20_000) + 1).reduce((a, b) => a + b);
	const peak = observe(pid);
	await until(() =>
		client.call('process/read', {processId: `p${total - 1}`}).then(
			() => false,
			() => true,
		),
	);
	await client.run({id: 'after', script: 'printf x'});
	const after = observe(pid);
	return [
		['processes with a wrong byte, code or event', wrong, wrong === 0],
		['bytes received / expected', `${bytes} / ${expected}`, bytes === expected],
		['events received', events, true],
		['descriptors before / after', `${before.fds} / ${after.fds}`, after.fds <= before.fds],
		['children and zombies afterwards', after.children, after.children === 0],
		[
			'RSS before / with all output retained / after eviction, MiB',
			`${before.rss} / ${peak.rss} / ${after.rss}`,
			after.rss < before.rss + 64,
		],
	];
}

/** A client that stops reading for 10 s while a process has 2 GiB to say. */
async function slowReader({url, pid}) {
	const size = 2048 * MiB;
	const client = await connect(url);
	await client.run({id: 'warm-up', script: 'head -c 50000000 /dev/zero'});
	const before = observe(pid);
	const pattern = Buffer.alloc(8 + 64 * 1024, 'longarm\n');
	let [offset, wrong] = [0, 0];
	const done = client.run({
		id: 'flood',
		script: `yes longarm | head -c ${size}`,
		onChunk(chunk) {
			const phase = offset % 8;
			if (pattern.compare(chunk, 0, chunk.length, phase, phase + chunk.length) !== 0) wrong++;
			offset += chunk.length;
		},
	});
	client.socket.pause();
	let most = 0;
	for (let second = 0; second < 100; second++) {
		await new Promise(resolve => setTimeout(resolve, 100));
		most = Math.max(most, observe(pid).rss);
	}
	const read = offset;
	client.socket.resume();
	const {bytes, inOrder} = await done;
	const after = observe(pid);
	return [
		['MiB received before the pause', (read / MiB).toFixed(1), read < size],
		['bytes received / written', `${bytes} / ${size}`, bytes === size && inOrder],
		['chunks with a wrong byte', wrong, wrong === 0],
		[
			'RSS before / most while not reading / after, MiB',
			`${before.rss} / ${most} / ${after.rss}`,
			most - before.rss < 64,
		],
	];
}

/** Children on terminals that print and exit at once: the case in which terminal libraries lose the tail. */
async function pty({url}) {
	const client = await connect(url);
	const lost = async (count, size) => {
		let short = 0;
		await inParallel(count, 8, async index => {
			const {bytes} = await client.run({id: `${size}-${index}`, script: `printf %0${size}d 0`, tty: true});
			if (bytes !== size) short++;
		});
		return short;
	};
	const [small, large] = [await lost(2000, 5000), await lost(400, 200_003)];
	return [
		['2,000 children of 5,000 bytes: short', small, small === 0],
		['400 children of 200,003 bytes: short', large, large === 0],
	];
}

async function startServer() {
	const command = new URL('../dist/bin/longarm.js', import.meta.url).pathname;
	const child = spawn(process.execPath, [command, 'serve', '--log-level', 'warn', '--retain-closed', '3s'], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	const url = await new Promise((resolve, reject) => {
		child.stdout.once('data', data => resolve(String(data).trim()));
		child.once('exit', code => reject(new Error(`the server exited with ${code}`)));
	});
	return {url, pid: child.pid, stop: () => child.kill()};
}

async function connect(url) {
	const socket = new WebSocket(url, {perMessageDeflate: false, maxPayload: 0});
	await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
	const calls = new Map();
	const processes = new Map();
	let nextId = 1;
	socket.on('message', data => {
		const message = JSON.parse(data);
		if (message.id !== undefined) {
			const call = calls.get(message.id);
			calls.delete(message.id);
			if (message.error) call.reject(new Error(message.error.message));
			else call.resolve(message.result);
		} else {
			processes.get(message.params.processId)?.(message.method, message.params);
		}
	});
	const call = (method, params) =>
		new Promise((resolve, reject) => {
			calls.set(nextId, {resolve, reject});
			socket.send(JSON.stringify({id: nextId++, method, params}));
		});
	await call('initialize', {clientName: 'stress'});
	socket.send(JSON.stringify({method: 'initialized'}));

	const run = ({id, script, tty = false, onChunk}) =>
		new Promise((resolve, reject) => {
			const result = {bytes: 0, events: 0, exitCode: undefined, inOrder: true};
			processes.set(id, (method, params) => {
				result.inOrder &&= params.seq === ++result.events;
				if (method === 'process/output') {
					const chunk = Buffer.from(params.chunk, 'base64');
					result.bytes += chunk.length;
					onChunk?.(chunk);
				} else if (method === 'process/exited') {
					result.exitCode = params.exitCode;
				} else {
					processes.delete(id);
					resolve(result);
				}
			});
			const env = {PATH: process.env.PATH};
			call('process/start', {processId: id, argv: ['/bin/sh', '-c', script], cwd: 'file:///tmp', env, tty}).catch(
				reject,
			);
		});
	return {socket, call, run};
}

async function inParallel(count, width, work) {
	let next = 0;
	const worker = async () => {
		while (next < count) await work(next++);
	};
	await Promise.all(Array.from({length: width}, worker));
}

async function until(probe) {
	while (!(await probe())) await new Promise(resolve => setTimeout(resolve, 100));
}

/** Resident MiB, open descriptors, and children of a process, zombies included. */
function observe(pid) {
	const rss = Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024);
	const fds = readdirSync(`/proc/${pid}/fd`).filter(fd => {
		try {
			readlinkSync(`/proc/${pid}/fd/${fd}`);
			return true;
		} catch {
			return false;
		}
	}).length;
	const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).length;
	return {rss, fds, children};
}
