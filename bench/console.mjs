// The web console in a real browser: size and time of the first paint, the longest task and the memory of the page while
// output floods its terminal, and after an hour's worth of output in a minute, 500 processes in the list, and 20 open
// terminals. Exits with 1 when a promise is broken.
//   npm run build && node bench/console.mjs [--only paint,flood,hour,list,terminals] [--megabytes 100] [--processes 500] [--terminals 20]
import {spawn} from 'node:child_process';
import {mkdtempSync, readdirSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import {chromium} from 'playwright-core';
import {connectWebSocket, SessionClient} from '../dist/index.js';

const {values} = parseArgs({
	options: {
		megabytes: {type: 'string', default: '100'},
		processes: {type: 'string', default: '500'},
		terminals: {type: 'string', default: '20'},
		only: {type: 'string', default: 'paint,flood,hour,list,terminals'},
		help: {type: 'boolean', default: false},
	},
});
if (values.help) {
	console.log('node bench/console.mjs [--megabytes 100] [--processes 500] [--terminals 20]');
	process.exit(0);
}
const PROGRAM = new URL('../dist/bin/longarm.js', import.meta.url).pathname;
const BROWSER = process.env.CHROMIUM_BIN ?? '/usr/bin/chromium';
const MAX_FIRST_PAINT_BYTES = 200 * 1024;
const MAX_TASK_MS = 200;
const MIB = 1024 * 1024;
/** A busy build: 600 lines of 100 bytes in a second, for an hour, within a minute. */
const HOUR_LINES = 600 * 3600;
const HOUR_LINES_PER_STEP = HOUR_LINES / 600;
/** Growth of the page from the middle of that hour to its end. */
const MAX_GROWTH_MIB = 8;
const parts = values.only.split(',');

const home = mkdtempSync(join(tmpdir(), 'longarm-console-'));
const env = {...process.env, HOME: home, XDG_STATE_HOME: join(home, 'state')};
const server = spawn(
	process.execPath,
	[PROGRAM, 'serve', '--console', '--log-level', 'error', '--max-processes-per-session', '1000'],
	{
		env,
		stdio: ['ignore', 'pipe', 'inherit'],
	},
);
const [url, link] = await new Promise(resolve => {
	let text = '';
	server.stdout.on('data', data => {
		text += data;
		if (text.split('\n').length > 2) resolve(text.trim().split('\n'));
	});
});
const client = await SessionClient.open(signal => connectWebSocket(url, {signal}));
const start = (processId, script, tty = true) =>
	client.start({
		processId,
		argv: ['sh', '-c', script],
		cwd: 'file:///tmp',
		env: {PATH: process.env.PATH},
		tty,
		...(tty && {io: {pty: {rows: 40, cols: 120}}}),
		name: processId,
		onDisconnect: 'keep',
	});

const args = [
	'--no-sandbox',
	'--disable-gpu',
	'--disable-quic',
	'--no-first-run',
	'--disable-background-networking',
	'--disable-sync',
];
const browser = await chromium.launch({executablePath: BROWSER, args, timeout: 120_000});
const context = await browser.newContext({viewport: {width: 1200, height: 800}});
context.setDefaultTimeout(110_000);
const failures = [];
const show = (name, value, isKept = true) => {
	console.log(`${name.padEnd(58)} ${value}${isKept ? '' : '   BROKEN'}`);
	if (!isKept) failures.push(name);
};

try {
	const page = await context.newPage();
	let bytes = 0;
	let requests = 0;
	const foreign = new Set();
	page.on('response', response => {
		if (new URL(response.url()).origin !== new URL(link).origin) foreign.add(response.url());
		requests++;
		bytes += Number(response.headers()['content-length'] ?? 0);
	});
	await page.goto(link);
	await page.getByText('No processes yet').waitFor();
	const paint = await page.evaluate(
		"performance.getEntriesByType('paint').map(({name, startTime}) => [name, startTime])",
	);
	show('bytes until the list of processes is shown', `${(bytes / 1024).toFixed(1)} KiB`, bytes < MAX_FIRST_PAINT_BYTES);
	show('requests until then', requests);
	show('requests to other hosts', foreign.size, foreign.size === 0);
	for (const [name, ms] of paint) show(name, `${Math.round(ms)} ms`);
	const folder = new URL('../dist/console/assets/', import.meta.url).pathname;
	const all = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
	show('all files of the console, compressed', `${(all / 1024).toFixed(1)} KiB`);

	if (parts.includes('flood')) await flood(page);
	if (parts.includes('hour')) await hour(page);
	if (parts.includes('list')) await list(page);
	if (parts.includes('terminals')) await terminals();
} finally {
	await browser.close();
	client.close();
	server.kill();
	await new Promise(resolve => server.once('exit', resolve));
	rmSync(home, {recursive: true, force: true});
}
if (failures.length > 0) process.exit(1);

async function flood(page) {
	const floodBytes = Number(values.megabytes) * 1_000_000;
	await start(
		'flood',
		`stty -echo; read go; yes 'a line of the flood, again and again, 0123456789' | head -c ${floodBytes}; echo; echo the end; sleep 1000`,
	);
	await open(page, 'flood');
	await letGo(page);
	const began = performance.now();
	await page.locator('.live .xterm-rows').filter({hasText: 'the end'}).waitFor();
	const seconds = (performance.now() - began) / 1000;
	const tasks = await page.evaluate('window.tasks');
	const longest = Math.round(Math.max(0, ...tasks));
	show(`${values.megabytes} MB into an open terminal, until the last screen`, `${seconds.toFixed(1)} s`);
	show(`tasks above 50 ms: ${tasks.length}; the longest`, `${longest} ms`, longest <= MAX_TASK_MS);
	show('heap of the page afterwards', `${await heapOf(page)} MiB`);
}

async function hour(page) {
	const line = 'src/compiler/part-%07d.ts: compiled without a warning, in no time at all, as always, or nearly so';
	const script = `stty -echo; read go; i=0; while [ $i -lt 600 ]; do seq -f '${line}' $((i * ${HOUR_LINES_PER_STEP})) $(((i + 1) * ${HOUR_LINES_PER_STEP} - 1)); sleep 0.08; i=$((i + 1)); done; echo the end; sleep 1000`;
	await start('hour', script.replaceAll('%07d', '%07.0f'));
	await open(page, 'hour');
	await letGo(page);
	const began = performance.now();
	await page.waitForTimeout(25_000);
	const middle = await heapOf(page);
	await page.locator('.live .xterm-rows').filter({hasText: 'the end'}).waitFor();
	const seconds = (performance.now() - began) / 1000;
	const after = await heapOf(page);
	const longest = Math.round(Math.max(0, ...(await page.evaluate('window.tasks'))));
	show(`an hour's output (${Math.round((HOUR_LINES * 96) / 1e6)} MB) within`, `${seconds.toFixed(0)} s`);
	show('heap of the page in the middle and at the end', `${middle} and ${after} MiB`, after - middle <= MAX_GROWTH_MIB);
	show('longest task meanwhile', `${longest} ms`, longest <= MAX_TASK_MS);
}

async function list(page) {
	const count = Number(values.processes);
	for (let index = 0; index < count; index += 50) {
		const some = Array.from({length: Math.min(50, count - index)}, (_, offset) => `p${index + offset}`);
		await Promise.all(some.map(name => start(name, 'exec sleep 1000', false)));
	}
	await watchTasks(page);
	await page.evaluate('window.tasks = []; location.hash = "#/here/processes"');
	const listed = performance.now();
	await page.getByRole('link', {name: `p${count - 1}`, exact: true}).waitFor();
	show(`${count} processes listed after`, `${Math.round(performance.now() - listed)} ms`);
	// Scrolled through meanwhile.
	for (let step = 0; step < 60; step++) {
		await page.mouse.move(600, 400);
		await page.mouse.wheel(0, step < 30 ? 800 : -800);
		await page.waitForTimeout(100);
	}
	const listTasks = await page.evaluate('window.tasks');
	show('longest task while it is kept current and scrolled for 6 s', `${Math.round(Math.max(0, ...listTasks))} ms`);
	show('heap of the page with the list', `${await heapOf(page)} MiB`);
}

async function terminals() {
	const pages = [];
	for (let index = 0; index < Number(values.terminals); index++) {
		await start(`t${index}`, 'for i in 1 2 3 4 5 6 7 8 9; do echo "line $i"; done; sleep 1000');
		const tab = await context.newPage();
		await tab.goto(link.split('#')[0]);
		await open(tab, `t${index}`);
		await tab.locator('.live .xterm-rows').filter({hasText: 'line 9'}).waitFor();
		pages.push(tab);
	}
	const heaps = await Promise.all(pages.map(heapOf));
	show(`${pages.length} open terminals, heap of each`, `${Math.min(...heaps)} to ${Math.max(...heaps)} MiB`);
}

/** Types the line that the process waits for, and watches from then on. */
async function letGo(page) {
	await watchTasks(page);
	await page.getByRole('button', {name: 'Take control'}).click();
	await page.getByText('you drive').waitFor();
	await page.keyboard.type('\n');
	await page.getByRole('button', {name: 'Give back'}).click();
}

async function open(page, name) {
	await page.waitForSelector('main');
	await page.evaluate(`location.hash = '#/here/process/${name}'`);
	await page.waitForSelector('.live .xterm-rows');
}

async function heapOf(page) {
	const session = await context.newCDPSession(page);
	await session.send('HeapProfiler.collectGarbage');
	const {usedSize} = await session.send('Runtime.getHeapUsage');
	return Math.round(usedSize / MIB);
}

async function watchTasks(page) {
	await page.evaluate(`
		window.tasks = [];
		new PerformanceObserver(list => { for (const {duration} of list.getEntries()) window.tasks.push(duration); }).observe({entryTypes: ['longtask']});
	`);
}
