// Everything at once for a long time: random clients on one server, every promise of the protocol held against every event.
//   node bench/soak.mjs [--minutes 10] [--clients 6] [--clock-jumps] [--seed N]      ends with a table, exit 1 on a broken promise
import {connect, startParams} from './lib/client.mjs';
import {JumpingClock} from './lib/clock-jumps.mjs';
import {Counter} from './lib/counter.mjs';
import {Mark} from './lib/mark.mjs';
import {toMib} from './lib/measure.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {isWatchdog, usageOf} from './lib/proc.mjs';
import {Random, weightedList} from './lib/random.mjs';
import {COMMAND, startServer, warmUp} from './lib/server.mjs';
import {percentile} from './lib/stats.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay, until} from './lib/waiting.mjs';
import {WORKLOADS} from './lib/workloads.mjs';
import {ContentFiles} from './soak/content-files.mjs';
import {CONTROL_SCENARIOS} from './soak/control-scenarios.mjs';
import {OUTPUT_SCENARIOS} from './soak/output-scenarios.mjs';
import {ProcessDriver} from './soak/process-driver.mjs';
import {
	ProcessExpiredError,
	ResumableSession,
	SERVER_SETTINGS,
	SessionExpiredError,
} from './soak/resumable-session.mjs';
import {Violations} from './soak/violations.mjs';

// A process that expired while its scenario had moved on leaves waits behind that reject later, with no one to catch them.
process.on('unhandledRejection', error => {
	if (!(error instanceof ProcessExpiredError)) throw error;
});

const SAMPLE_MS = 10_000;
/** Growth of memory that counts as none. */
const GROWTH_MIB = 64;
/** Sessions, retention and the collector have done their work by then. */
const IDLE_MS = 20_000;
/** Fewer samples show no trend. */
const TREND_SAMPLES = 12;
const SCENARIOS = {...OUTPUT_SCENARIOS, ...CONTROL_SCENARIOS};
const WEIGHTED_SCENARIOS = weightedList(Object.entries(SCENARIOS).map(([name, {weight}]) => [weight, name]));
/** Faults that are injected into a session while scenarios run in it. */
const WEIGHTED_FAULTS = weightedList([
	[40, 'cut'],
	[10, 'vanish'],
	[35, 'pause'],
	[12, 'visit'],
	[3, 'expire'],
]);

const {minutes, clients, scenarios, clockJumps, seed, command} = readOptions(
	'Random clients against one server; every event and every byte is checked.',
	{
		minutes: {default: 10, help: 'how long'},
		clients: {default: 6, help: 'sessions at a time'},
		scenarios: {default: 4, help: 'scenarios at a time in each session'},
		clockJumps: {default: false, help: 'the clock of the server jumps by an hour all the time; needs faketime'},
		seed: SEED,
		command: COMMAND,
	},
);
console.error(`seed ${seed}`);
const began = performance.now();
const deadline = began + minutes * 60_000;
const violations = new Violations();
const files = new ContentFiles();
const mark = new Mark(process.pid, 1);
const random = new Random(seed);
const SUMS = ['calls', 'cuts', 'events', 'bytes', 'missedBytes'];
const totals = {
	scenarios: new Counter(),
	faults: new Counter(),
	inconclusive: 0,
	sessions: 0,
	...Object.fromEntries(SUMS.map(name => [name, 0])),
};
let marks = 0;

const clock = clockJumps ? new JumpingClock(random.fork()) : undefined;
const server = await startServer({
	command,
	settings: SERVER_SETTINGS,
	wrap: argv => clock?.wrap(mark.wrap(argv)) ?? mark.wrap(argv),
});
await warmUp(server);
const before = usageOf(server.pid);
const samples = [];
const sampling = setInterval(takeSample, SAMPLE_MS);
await Promise.all(Array.from({length: clients}, (_, index) => runClient(`c${index}`, random.fork())));
clearInterval(sampling);
const after = await settle();
const end = await endUnderLoad();
clock?.stop();
finish(figures());

/** Session after session until the time is over. */
async function runClient(name, ownRandom) {
	while (performance.now() < deadline) {
		const session = new ResumableSession(server.url, violations);
		await session.open();
		const number = ++totals.sessions;
		const isOver = () => session.isOver || performance.now() >= deadline;
		const running = Array.from({length: scenarios}, (_, index) =>
			runScenarios(`${name}.${number}.${index}`, session, isOver, ownRandom.fork()),
		);
		let areDone = false;
		const faults = injectFaults(session, () => isOver() || areDone, ownRandom.fork());
		await Promise.all(running);
		areDone = true;
		await faults;
		for (const sum of SUMS) totals[sum] += session[sum];
		if (!session.isOver) await session.close();
	}
}

async function runScenarios(name, session, isOver, ownRandom) {
	const driver = new ProcessDriver(name, {session, random: ownRandom, files, mark: newMark, violations});
	while (!isOver()) {
		const scenario = ownRandom.pick(WEIGHTED_SCENARIOS);
		try {
			await SCENARIOS[scenario].run(driver);
			totals.scenarios.add(scenario);
		} catch (error) {
			if (error instanceof SessionExpiredError || error instanceof ProcessExpiredError) totals.inconclusive++;
			else violations.add('scenario', `${name} ${scenario}: ${error.stack}`);
		}
	}
}

function newMark() {
	return mark.text(++marks);
}

async function injectFaults(session, isOver, ownRandom) {
	while (!isOver()) {
		await delay(ownRandom.size(50, 4000));
		if (isOver()) return;
		const fault = ownRandom.pick(WEIGHTED_FAULTS);
		totals.faults.add(fault);
		if (fault === 'pause') await session.pauseReading(ownRandom.size(20, 2000));
		else if (fault === 'cut') await session.disconnectFor(ownRandom.size(1, 2500));
		else if (fault === 'vanish') await session.vanishFor(ownRandom.size(1, 2500));
		else if (fault === 'visit') await session.checkIsolation();
		else await session.checkExpiry();
	}
}

function takeSample() {
	const sample = usageOf(server.pid);
	samples.push(sample);
	const seconds = Math.round((performance.now() - began) / 1000);
	console.error(
		`${seconds} s: ${totals.scenarios.total} scenarios, ${violations.total} violations, ${sample.rss} MiB, ${sample.fds} descriptors, ${sample.children} children`,
	);
}

/** Without clients the server has to become as it was. */
async function settle() {
	await until(() => isBack(usageOf(server.pid)), {withinMs: IDLE_MS, everyMs: 500});
	return usageOf(server.pid);
}

function isBack({fds, children, rss}) {
	return fds === before.fds && children === 0 && rss < before.rss + GROWTH_MIB;
}

/** One process of every kind is running, daemons included, when the server is asked to end. */
async function endUnderLoad() {
	const client = await connect(server.url);
	const kinds = Object.entries(WORKLOADS);
	for (const [kind, {start}] of kinds) {
		await client.call('process/start', startParams({id: kind, ...start(mark.text(++marks))}));
	}
	const running = mark.living().filter(({pid}) => !isWatchdog(pid)).length;
	const exitCode = await server.stop();
	await until(() => mark.living().length === 0, {withinMs: 2000});
	return {running, exitCode, left: mark.living()};
}

function figures() {
	const log = server.log();
	const row = rowsOf('soak');
	return [
		row('minutes (seed)', `${((performance.now() - began) / 60_000).toFixed(1)} (${seed})`),
		row('scenarios', totals.scenarios, totals.scenarios.total > 0),
		row('scenarios cut short by an expiry', totals.inconclusive),
		row('sessions / cuts and resumes / requests', `${totals.sessions} / ${totals.cuts} / ${totals.calls}`),
		row('faults', totals.faults),
		row('events checked', totals.events),
		row(
			'MiB checked / announced as missed',
			`${toMib(totals.bytes - totals.missedBytes)} / ${toMib(totals.missedBytes)}`,
		),
		row('violations', violations.total, violations.total === 0),
		...violations.entries().map(([kind, count]) => row(`… ${kind}`, count, false)),
		row('descriptors before / after', `${before.fds} / ${after.fds}`, after.fds === before.fds),
		row('children after', after.children, after.children === 0),
		row('RSS before / after, MiB', `${before.rss} / ${after.rss}`, after.rss < before.rss + GROWTH_MIB),
		row('RSS median of 2nd / 4th quarter, most, MiB', ...trend()),
		row('processes when asked to end / left behind', `${end.running} / ${end.left.length}`, end.left.length === 0),
		row('exit code of the server', end.exitCode, end.exitCode === 0),
		row('lines the server logged', log.length, log.length === 0),
	];
}

/** The first quarter is left out: it fills what is used again later. */
function trend() {
	const [second, last] = [
		samples.slice(samples.length / 4, samples.length / 2),
		samples.slice((samples.length * 3) / 4),
	];
	const medians = [second, last].map(part =>
		percentile(
			part.map(({rss}) => rss),
			50,
		),
	);
	const most = Math.max(...samples.map(({rss}) => rss));
	const grows = samples.length >= TREND_SAMPLES && medians[1] - medians[0] > GROWTH_MIB;
	return [`${medians.join(' / ')}, ${most}`, !grows];
}
