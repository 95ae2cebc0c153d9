// One process floods, one client drives, others watch and one of them stops reading: what they cost the driver and the
// server, without output on disk and with it. Each observer gets every byte, or is told how many it missed.
//   node bench/observers.mjs [--observers 50] [--mb 512]      ends with a table, exit 1 on a broken promise
import {fork} from 'node:child_process';
import {once} from 'node:events';
import {loadavg} from 'node:os';
import {join} from 'node:path';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {connect, startParams} from './lib/client.mjs';
import {MIB, toMib} from './lib/measure.mjs';
import {BLOCKS_PER_MIB, blockWriter, bytesOfBlocks, watchBlocks} from './lib/numbered-blocks.mjs';
import {readOptions} from './lib/options.mjs';
import {cpuSecondsOf, readProc, statusOf} from './lib/proc.mjs';
import {COMMAND, startServer, warmUp} from './lib/server.mjs';
import {finish, rowsOf} from './lib/tables.mjs';

const {observers, mb, watchers, only, command} = readOptions(
	'Observers of one flooding process, one of them stalled.',
	{
		observers: {default: 50, help: 'clients that watch, the stalled one included'},
		mb: {default: 512, help: 'MiB that the process writes'},
		watchers: {default: 4, help: 'processes that the observers are spread over; the stalled one has its own'},
		only: {default: 'both', choices: ['both', 'memory', 'disk'], help: 'where the output is kept'},
		command: COMMAND,
	},
);
const MAX_RSS_MIB = 256;
/** What observers may cost the server on top of what is sent to them. */
const MAX_EXTRA_SHARE = 0.1;
/** As many observers as this share of all show what sending costs. */
const FEW_SHARE = 0.1;
const EXIT_CODE = 23;
const ID = 'flood';
const WATCHER = new URL('./observers/watcher.mjs', import.meta.url).pathname;

const blocks = mb * BLOCKS_PER_MIB;
const size = bytesOfBlocks(blocks);
const scratch = scratchFolder('observers');
const few = Math.max(1, Math.round(observers * FEW_SHARE));
const rows = [];
for (const place of only === 'both' ? ['memory', 'disk'] : [only]) rows.push(...(await compare(place)));
finish(rows);

/** The same flood in front of nobody, of a few observers, of all with a stalled one, and of all when they are stalled. */
async function compare(place) {
	const row = rowsOf(place === 'disk' ? 'output on disk' : 'output in memory');
	const alone = await flood(place, 0);
	const withFew = await flood(place, few);
	const withAll = await flood(place, observers, {stalledCount: 1});
	const withStalled = await flood(place, observers, {stalledCount: observers});
	const runs = [alone, withFew, withAll, withStalled];
	const each = pick => runs.map(pick).join(' / ');
	const price = (withFew.cpuSeconds - alone.cpuSeconds) / (withFew.sentBytes - alone.sentBytes);
	const priced = alone.cpuSeconds + price * (withAll.sentBytes - alone.sentBytes);
	const extra = withAll.cpuSeconds / priced - 1;
	const readers = runs.flatMap(run => [run.driver, ...run.watched, ...run.stalled]);
	const unaccounted = readers.filter(({received, missed}) => received + missed !== size).length;
	const wrong = readers.reduce((sum, reader) => sum + reader.wrong, 0);
	const wrongExits = readers.filter(({exitCode}) => exitCode !== EXIT_CODE).length;
	const missedByDrivers = runs.reduce((sum, {driver}) => sum + driver.missed, 0);
	const missed = withAll.watched.reduce((sum, reader) => sum + reader.missed, 0);
	const [stalled] = withAll.stalled;
	const missedByStalled = withStalled.stalled.reduce((sum, reader) => sum + reader.missed, 0);
	const isOnDisk = place === 'disk';
	const peak = Math.max(...runs.map(({peakMib}) => peakMib));
	return [
		row(
			'observers (of these stalled)',
			each(run => `${run.count} (${run.stalled.length})`),
		),
		row(
			'load of the machine before',
			each(({load}) => load.toFixed(1)),
		),
		row(
			'MiB/s of the driver',
			each(({driverSeconds}) => (mb / driverSeconds).toFixed(0)),
		),
		row(
			'% of the time of the driver that the server ran, waited for a processor',
			each(run => [run.ranSeconds, run.waitedSeconds].map(s => ((100 * s) / run.driverSeconds).toFixed(0)).join(', ')),
		),
		row(
			'KiB of a chunk on average',
			each(({driver}) => (driver.received / driver.chunks / 1024).toFixed(1)),
		),
		row(
			'seconds until all have read all',
			each(({seconds}) => seconds.toFixed(1)),
		),
		row(
			'MiB sent to all',
			each(({sentBytes}) => toMib(sentBytes)),
		),
		row(
			'MiB/s sent to all',
			each(({sentBytes, seconds}) => toMib(sentBytes / seconds)),
		),
		row(
			'processor ms of the server per MiB sent',
			each(run => perMib(run.cpuSeconds, run.sentBytes).toFixed(2)),
		),
		row('processor ms that sending one more MiB costs, by the few', (price * 1000 * MIB).toFixed(2)),
		row(
			'processor time with all, beyond the cost of sending (bound)',
			`${(extra * 100).toFixed(0)} % (${MAX_EXTRA_SHARE * 100} %)`,
			extra < MAX_EXTRA_SHARE,
		),
		row('peak RSS (bound), MiB', `${each(({peakMib}) => peakMib)} (${MAX_RSS_MIB})`, peak > 0 && peak <= MAX_RSS_MIB),
		row('bytes the drivers missed', missedByDrivers, missedByDrivers === 0),
		row('MiB missed by observers that read, and told', toMib(missed), !isOnDisk || missed === 0),
		row(
			'stalled one: MiB received / missed and told, in gaps',
			`${toMib(stalled.received)} / ${toMib(stalled.missed)}, ${stalled.gaps}`,
			isOnDisk ? stalled.received === size : stalled.received + stalled.missed === size,
		),
		row(
			'all stalled: MiB missed and told',
			toMib(missedByStalled),
			isOnDisk ? missedByStalled === 0 : missedByStalled > 0,
		),
		row('readers with bytes missing that nobody told', `${unaccounted} of ${readers.length}`, unaccounted === 0),
		row('chunks with a wrong byte or out of order', wrong, wrong === 0),
		row('readers without the right exit code', wrongExits, wrongExits === 0),
	];
}

async function flood(place, count, {stalledCount = 0} = {}) {
	const load = loadavg()[0];
	// One that reads nothing answers no ping, either: its connection is not to be taken for a lost one.
	const settings = ['--peer-timeout', '0', '--state', join(scratch, `${place}-${count}-${stalledCount}`)];
	const server = await startServer({command, settings, logLevel: 'error'});
	await warmUp(server);
	const client = await connect(server.url);
	const {checker, done} = watchBlocks(client, ID);
	const argv = blockWriter(blocks, {exitCode: EXIT_CODE, waits: true});
	const spill = place === 'disk' ? {spill: {}} : {};
	await client.call('process/start', startParams({id: ID, argv, io: {pipe: {stdin: 'open'}}, ...spill}));
	const stalled = stalledCount > 0 ? await startWatcher(server.url, stalledCount, 'stalled') : undefined;
	const crowds = [];
	for (const share of shares(count - stalledCount)) crowds.push(await startWatcher(server.url, share));

	const cpuBefore = cpuSecondsOf(server.pid);
	const scheduledBefore = scheduledSecondsOf(server.pid);
	const began = performance.now();
	await client.call('process/write', {processId: ID, chunk: Buffer.from('\n').toString('base64'), writeId: '1'});
	const exitCode = await done;
	const driverSeconds = (performance.now() - began) / 1000;
	const [ranSeconds, waitedSeconds] = scheduledSecondsOf(server.pid).map((now, index) => now - scheduledBefore[index]);
	const watched = (await Promise.all(crowds.map(crowd => crowd.reports))).flat();
	// Everybody else is done: it did not hold them back.
	stalled?.goOn();
	const late = (await stalled?.reports) ?? [];
	const seconds = (performance.now() - began) / 1000;
	const cpuSeconds = cpuSecondsOf(server.pid) - cpuBefore;
	const peakMib = Math.round(statusOf(server.pid, 'VmHWM') / 1024);
	client.socket.close();
	await server.stop();

	const {receivedBytes: received, missedBytes: missed, wrongChunks: wrong, chunks} = checker;
	const driver = {received, missed, wrong, chunks, exitCode};
	const sentBytes = [driver, ...watched, ...late].reduce((sum, reader) => sum + reader.received, 0);
	console.error(
		`${place}, ${count} observers, ${stalledCount} stalled: ${seconds.toFixed(1)} s, ${toMib(sentBytes)} MiB sent`,
	);
	const times = {driverSeconds, ranSeconds, waitedSeconds, seconds, cpuSeconds};
	return {count, load, driver, watched, stalled: late, sentBytes, peakMib, ...times};
}

/** How many observers each of the processes gets. */
function shares(count) {
	const used = Math.min(watchers, count);
	return Array.from({length: used}, (_, index) => Math.floor((count + index) / used));
}

/** Resolves when its observers are attached; `reports` with what they got in the end. */
async function startWatcher(url, count, mode = 'reading') {
	const child = fork(WATCHER, [url, ID, String(count), mode]);
	const failed = once(child, 'exit').then(([code]) => {
		throw new Error(`a process with observers ended with ${code}`);
	});
	await Promise.race([once(child, 'message'), failed]);
	const reports = once(child, 'message').then(([list]) => list);
	return {reports: Promise.race([reports, failed]), goOn: () => child.send('go on')};
}

/** Seconds in which its main thread ran, and in which it could have, had there been a processor. */
function scheduledSecondsOf(pid) {
	const [ran = 0, waited = 0] = readProc(`${pid}/schedstat`).split(' ').map(Number);
	return [ran / 1e9, waited / 1e9];
}

function perMib(seconds, bytes) {
	return (seconds * 1000) / (bytes / MIB);
}
