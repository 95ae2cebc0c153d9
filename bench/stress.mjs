// Promises of the server under load, checked byte by byte against the built command.
//   node bench/stress.mjs [many] [slow-reader] [pty]      all three without arguments; ends with a table, exit 1 on a broken promise
import {connect, run} from './lib/client.mjs';
import {RepeatedContent} from './lib/content.mjs';
import {MIB, watchMemory} from './lib/measure.mjs';
import {usageOf} from './lib/proc.mjs';
import {runScenarios} from './lib/scenarios.mjs';
import {delay, inParallel, until} from './lib/waiting.mjs';

/** How long the server may take to find a quiet moment. */
const RECLAIM_SECONDS = 20;
/** How long the slow reader reads nothing. */
const STOP_MS = 10_000;

await runScenarios(
	'Promises of the server under load, checked byte by byte.',
	{many, 'slow-reader': slowReader, pty},
	{settings: ['--retain-closed', '3s']},
);

/** 10,000 short processes, 64 at a time over one connection, half of them on terminals, each printing a known amount. */
async function many({url, pid}) {
	const total = 10_000;
	const client = await connect(url);
	await run(client, {id: 'warm-up', script: 'printf x'});
	const before = usageOf(pid);
	let [bytes, events, wrong] = [0, 0, 0];
	await inParallel(total, 64, async index => {
		const size = ((index * 7919) % 20_000) + 1;
		const exitCode = index % 200;
		const result = await run(client, {
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
	const peak = usageOf(pid);
	await until(() =>
		client.call('process/read', {processId: `p${total - 1}`}).then(
			() => false,
			() => true,
		),
	);
	await run(client, {id: 'after', script: 'printf x'});
	// The server gives memory back in a quiet moment.
	for (let second = 0; second < RECLAIM_SECONDS && usageOf(pid).rss >= before.rss + 16; second++) await delay(1000);
	const after = usageOf(pid);
	return [
		['processes with a wrong byte, code or event', wrong, wrong === 0],
		['bytes received / expected', `${bytes} / ${expected}`, bytes === expected],
		['events received', events, true],
		['descriptors before / after', `${before.fds} / ${after.fds}`, after.fds <= before.fds],
		['children and zombies afterwards', after.children, after.children === 0],
		[
			'RSS before / with all output retained / afterwards, MiB',
			`${before.rss} / ${peak.rss} / ${after.rss}`,
			after.rss < before.rss + 64,
		],
	];
}

/** A client that stops reading for 10 s while a process has 2 GiB to say. */
async function slowReader({url, pid}) {
	const size = 2048 * MIB;
	const client = await connect(url);
	await run(client, {id: 'warm-up', script: 'head -c 50000000 /dev/zero'});
	const before = usageOf(pid);
	const content = new RepeatedContent(Buffer.alloc(MIB, 'longarm\n'));
	let [offset, wrong] = [0, 0];
	const done = run(client, {
		id: 'flood',
		script: `yes longarm | head -c ${size}`,
		onChunk(chunk) {
			if (!content.matches(chunk, offset)) wrong++;
			offset += chunk.length;
		},
	});
	client.socket.pause();
	const memory = watchMemory(() => ({server: pid}));
	await delay(STOP_MS);
	const {server: most} = memory.stop().most;
	const read = offset;
	client.socket.resume();
	const {bytes, inOrder} = await done;
	const after = usageOf(pid);
	return [
		['MiB received before the pause', (read / MIB).toFixed(1), read < size],
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
			const {bytes} = await run(client, {id: `${size}-${index}`, script: `printf %0${size}d 0`, tty: true});
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
