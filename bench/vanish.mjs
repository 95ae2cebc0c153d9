// Servers that vanish without a word, with the settings everybody has: noticed by both ends within half a minute, found
// again, and nothing lost.
//   node bench/vanish.mjs [--width 8] [--ages 1,8,16,27] [--ways proxy] [--kinds idle]      needs root and ip for routers
import {execFileSync, spawn} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {readOptions} from './lib/options.mjs';
import {printedAddress} from './lib/printed-address.mjs';
import {Router} from './lib/router.mjs';
import {COMMAND} from './lib/server.mjs';
import {SilentProxy} from './lib/silent-proxy.mjs';
import {markdownTable} from './lib/tables.mjs';
import {delay, inParallel, within} from './lib/waiting.mjs';
import {KINDS, Program} from './vanish/kinds.mjs';

/** Promised by docs/operations.md. */
const NOTICED_WITHIN_S = 30;
const MAX_CASE_MS = 150_000;

const options = readOptions('Servers that vanish without a word.', {
	width: {default: 8, help: 'cases at the same time'},
	ages: {default: '1,8,16,27', help: 'age of the connection when it dies, in seconds'},
	ways: {
		default: 'router,flow,proxy',
		help: 'a router that loses all packets, one that has forgotten the connection, a proxy',
	},
	kinds: {default: 'idle,streaming,writing,shell,copy,forward', help: 'work that is under way'},
	program: COMMAND,
});
const list = text => text.split(',').filter(Boolean);
const cases = list(options.ways).flatMap(way =>
	list(options.kinds).flatMap(kind => list(options.ages).map(age => ({way, kind, age: Number(age)}))),
);
const folder = scratchFolder('vanish');
const results = [];
await inParallel(cases.length, options.width, async index => {
	const each = cases[index];
	const opened = {children: [], closers: []};
	let outcome;
	try {
		outcome = await within(MAX_CASE_MS, 'a case', runCase(each, index, opened));
	} catch (error) {
		outcome = {failure: error.message};
	} finally {
		for (const child of opened.children) child.kill('SIGKILL');
		for (const close of opened.closers) close();
	}
	console.error(JSON.stringify({...each, ...outcome}));
	results[index] = {...each, ...outcome};
});
const isKept = ({client, server, failure}) =>
	failure === undefined && client <= NOTICED_WITHIN_S && server <= NOTICED_WITHIN_S;
const seconds = value => (value === undefined ? '-' : value.toFixed(1));
const rows = results.map(each => [
	each.way,
	each.kind,
	each.age,
	seconds(each.client),
	seconds(each.server),
	seconds(each.back),
	each.failure ?? 'whole',
	isKept(each) ? 'yes' : '**NO**',
]);
const columns = ['way', 'kind', 'age (s)', 'client noticed (s)', 'server noticed (s)', 'back (s)', 'result', 'kept'];
console.log(`\n${markdownTable(columns, 'llrrrrll', rows)}`);
process.exit(results.every(isKept) ? 0 : 1);

async function runCase({way, kind, age}, index, {children, closers}) {
	const start = (argv, variables = {}) => {
		const child = spawn(argv[0], argv.slice(1), {env: {...process.env, ...variables}, stdio: 'pipe'});
		children.push(child);
		return new Program(child);
	};
	const link = await openLink(way, index, start, closers);
	const home = join(folder, String(index));
	execFileSync('mkdir', ['-p', home]);
	writeFileSync(join(home, 'environments.toml'), `[[environments]]\nid = "far"\nurl = "${link.url}"\n`);
	const longarm = (...args) => [...link.onClient, process.execPath, options.program, ...args];
	const work = await KINDS[kind]({start: argv => start(argv, {LONGARM_HOME: home}), longarm, home, link});
	await delay(age * 1000);
	await work.beforeVanishing?.();
	const vanishedAt = performance.now();
	const elapsed = () => (performance.now() - vanishedAt) / 1000;
	link.vanish();
	const serverNoticed = link.server.logs(/client vanished|session taken over|client does not answer/).then(elapsed);
	const client = await work.lost().then(elapsed);
	// Both ends get the time to notice; the client tries for 45 seconds.
	if (way === 'router') await Promise.race([serverNoticed, delay(10_000)]);
	link.heal();
	const back = await work.back().then(elapsed);
	const server = await serverNoticed;
	const failure = await work.verify();
	return {client, server, back, failure};
}

async function openLink(way, index, start, closers) {
	const serve = [process.execPath, options.program, 'serve', '--log-format', 'json', '--allow-forward', 'loopback'];
	if (way === 'proxy') {
		const server = start(serve);
		const proxy = await SilentProxy.to(await printedAddress(server.child));
		closers.push(() => proxy.close());
		return {server, url: proxy.url, onClient: [], onServer: [], vanish: () => proxy.swallow(), heal() {}};
	}
	const router = new Router(index);
	closers.push(() => router.destroy());
	const listen = ['--listen', `ws://${router.server}:0`, '--dangerously-allow-unauthenticated-network'];
	const server = start([...router.onServer, ...serve, ...listen]);
	const url = await printedAddress(server.child);
	const {onClient, onServer} = router;
	if (way === 'router')
		return {server, url, onClient, onServer, vanish: () => router.drop(), heal: () => router.pass()};
	return {server, url, onClient, onServer, vanish: () => router.killFlows(Number(new URL(url).port)), heal() {}};
}
