// Everything at once for a long time: random clients on one server, every promise of the protocol held against every event.
//   node bench/soak.mjs [--minutes 10] [--clients 6] [--seed N]      ends with a table, exit 1 on a broken promise
import {connect, startParams} from './lib/client.mjs';
import {Library} from './lib/content.mjs';
import {LOADS} from './lib/loads.mjs';
import {Mark} from './lib/mark.mjs';
import {isWatchdog, observe} from './lib/observe.mjs';
import {readOptions, SEED} from './lib/options.mjs';
import {Random} from './lib/random.mjs';
import {finish, percentile} from './lib/report.mjs';
import {Forgotten, Roamer, SERVER_SETTINGS, SessionOver} from './lib/roamer.mjs';
import {COMMAND, startServer} from './lib/server.mjs';
import {STORIES, Storyteller} from './lib/stories.mjs';
import {Violations} from './lib/violations.mjs';
import {delay, until} from './lib/waiting.mjs';

// A process that was forgotten while its story had moved on leaves waits behind that reject later; they belong to nobody.
process.on('unhandledRejection', error => {
	if (!(error instanceof Forgotten)) throw error;
});

const SAMPLE_MS = 10_000;
/** Growth of memory that counts as none. */
const GROWTH_MIB = 64;
/** Sessions, retention and the collector have done their work by then. */
const IDLE_MS = 20_000;
/** Fewer samples show no trend. */
const TREND_SAMPLES = 12;
/** What happens to a session while stories are played in it. */
const WEATHER = {cut: 40, pause: 35, visit: 12, expire: 3};

const {minutes, clients, hands, seed, command} = readOptions(
	'Random clients against one server; every event and every byte is checked.',
	{
		minutes: {default: 10, help: 'how long'},
		clients: {default: 6, help: 'sessions at a time'},
		hands: {default: 4, help: 'stories at a time in each session'},
		seed: SEED,
		command: COMMAND,
	},
);
console.error(`seed ${seed}`);
const began = performance.now();
const deadline = began + minutes * 60_000;
const violations = new Violations();
const library = new Library();
const mark = new Mark(process.pid, 1);
const random = new Random(seed);
const SUMS = ['calls', 'cuts', 'events', 'bytes', 'missedBytes'];
const totals = {
	stories: {},
	weather: {},
	inconclusive: 0,
	sessions: 0,
	...Object.fromEntries(SUMS.map(name => [name, 0])),
};
let marks = 0;

const server = await startServer({command, settings: SERVER_SETTINGS, wrap: argv => mark.wrap(argv)});
await warmUp();
const before = observe(server.pid);
const samples = [];
const sampling = setInterval(takeSample, SAMPLE_MS);
await Promise.all(Array.from({length: clients}, (_, index) => playClient(`c${index}`, random.fork())));
clearInterval(sampling);
const after = await settle();
const end = await endUnderLoad();
library.dispose();
finish(figures());

/** What is loaded with the first process and stays. */
async function warmUp() {
	const client = await connect(server.url);
	await client.call('process/start', startParams({id: 'warm-up', argv: ['true']}));
	client.socket.close();
	await until(() => observe(server.pid).children === 0);
	await delay(1000);
}

/** Session after session until the time is over. */
async function playClient(name, chance) {
	while (performance.now() < deadline) {
		const roamer = new Roamer(server.url, violations);
		await roamer.open();
		const session = {isOver: () => roamer.isOver || performance.now() >= deadline};
		const number = ++totals.sessions;
		const tellers = Array.from({length: hands}, (_, hand) =>
			tell(`${name}.${number}.${hand}`, roamer, session, chance.fork()),
		);
		let told = false;
		const weather = makeWeather(roamer, () => session.isOver() || told, chance.fork());
		await Promise.all(tellers);
		told = true;
		await weather;
		for (const sum of SUMS) totals[sum] += roamer[sum];
		if (!roamer.isOver) await roamer.close();
	}
}

async function tell(name, roamer, session, chance) {
	const scene = {roamer, random: chance, library, mark: () => mark.text(++marks), violations};
	const teller = new Storyteller(name, scene);
	while (!session.isOver()) {
		const story = chance.weighted(STORIES);
		try {
			await teller.play(story);
			totals.stories[story] = (totals.stories[story] ?? 0) + 1;
		} catch (error) {
			if (error instanceof SessionOver || error instanceof Forgotten) totals.inconclusive++;
			else violations.add('story', `${name} ${story}: ${error.stack}`);
		}
	}
}

async function makeWeather(roamer, isOver, chance) {
	while (!isOver()) {
		await delay(chance.size(50, 4000));
		if (isOver()) return;
		const kind = chance.weighted(WEATHER);
		totals.weather[kind] = (totals.weather[kind] ?? 0) + 1;
		if (kind === 'pause') await roamer.pauseReading(chance.size(20, 2000));
		else if (kind === 'cut') await roamer.cut(chance.size(1, 2500));
		else if (kind === 'visit') await roamer.beVisited();
		else await roamer.outlive();
	}
}

function takeSample() {
	const sample = observe(server.pid);
	samples.push(sample);
	const seconds = Math.round((performance.now() - began) / 1000);
	const stories = Object.values(totals.stories).reduce((sum, count) => sum + count, 0);
	console.error(
		`${seconds} s: ${stories} stories, ${violations.total} violations, ${sample.rss} MiB, ${sample.fds} descriptors, ${sample.children} children`,
	);
}

/** Everybody is gone: the server has to be as it was. */
async function settle() {
	await until(() => isBack(observe(server.pid)), {withinMs: IDLE_MS, everyMs: 500});
	return observe(server.pid);
}

function isBack({fds, children, rss}) {
	return fds === before.fds && children === 0 && rss < before.rss + GROWTH_MIB;
}

/** One process of every kind is running, daemons included, when the server is asked to end. */
async function endUnderLoad() {
	const client = await connect(server.url);
	const kinds = Object.entries(LOADS);
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
	return [
		row('minutes (seed)', `${((performance.now() - began) / 60_000).toFixed(1)} (${seed})`),
		row('stories', list(totals.stories), Object.keys(totals.stories).length > 0),
		row('stories cut short by an expiry', totals.inconclusive),
		row('sessions / cuts and resumes / requests', `${totals.sessions} / ${totals.cuts} / ${totals.calls}`),
		row('weather', list(totals.weather)),
		row('events checked', totals.events),
		row(
			'MiB checked / announced as missed',
			`${mebi(totals.bytes - totals.missedBytes)} / ${mebi(totals.missedBytes)}`,
		),
		row('violations', violations.total, violations.total === 0),
		...violations.entries().map(([kind, count]) => row(`… ${kind}`, count, false)),
		row('descriptors before / after', `${before.fds} / ${after.fds}`, after.fds === before.fds),
		row('children after', after.children, after.children === 0),
		row('RSS before / after, MiB', `${before.rss} / ${after.rss}`, after.rss < before.rss + GROWTH_MIB),
		trend(),
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
			0.5,
		),
	);
	const most = Math.max(...samples.map(({rss}) => rss));
	const grows = samples.length >= TREND_SAMPLES && medians[1] - medians[0] > GROWTH_MIB;
	return row('RSS median of 2nd / 4th quarter, most, MiB', `${medians.join(' / ')}, ${most}`, !grows);
}

function row(what, value, kept = true) {
	return ['soak', what, value, kept];
}

function list(counts) {
	return Object.entries(counts)
		.map(([name, count]) => `${name} ${count}`)
		.join(', ');
}

function mebi(bytes) {
	return Math.round(bytes / 2 ** 20);
}
