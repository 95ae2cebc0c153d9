// Fan-out of `true`-like commands: rate, CPU per item and memory, beside GNU parallel on the same rows.
// node bench/fanout.mjs [--rows 2000] [--width 16] [--without-parallel]
// node bench/fanout.mjs --rows 1000000 --width 64 --engine   the engine alone, with a worker that does nothing: journal, output and memory

import {spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {readOptions} from './lib/options.mjs';

const PROGRAM = fileURLToPath(new URL('../dist/bin/longarm.js', import.meta.url));
const {rows, width, engine, withoutParallel} = readOptions('What a row of a fan-out costs, beside GNU parallel.', {
	rows: {default: 2000, help: 'rows of the job'},
	width: {default: 16, help: 'commands at a time'},
	engine: {default: false, help: 'the engine alone, with a worker that does nothing'},
	withoutParallel: {default: false, help: 'leave GNU parallel out'},
});
const SAMPLE_MS = 1000;

const directory = mkdtempSync(join(tmpdir(), 'longarm-fanout-'));
const input = join(directory, 'in.csv');
writeFileSync(input, `n\n${Array.from({length: rows}, (_, index) => `${index}\n`).join('')}`);
const lines = join(directory, 'lines');
writeFileSync(lines, Array.from({length: rows}, (_, index) => `${index}\n`).join(''));
const env = {PATH: process.env.PATH, HOME: directory, LONGARM_HOME: directory, LANG: 'C'};

try {
	if (engine) await measureEngine();
	else await compare();
} finally {
	rmSync(directory, {recursive: true, force: true});
}

async function compare() {
	const common = [
		'--job-dir',
		join(directory, 'jobs'),
		'--max-concurrency',
		String(width),
		'--result',
		'exit',
		'--stdin',
		'none',
	];
	const own = [
		PROGRAM,
		'fanout',
		input,
		'--argv',
		'["/bin/true","{n}"]',
		'--output',
		join(directory, 'out.csv'),
		...common,
	];
	await measure('longarm fanout', process.execPath, own);
	if (!withoutParallel) {
		const log = join(directory, 'joblog');
		await measure('GNU parallel', 'parallel', ['-j', String(width), '--joblog', log, '-a', lines, '/bin/true', '{}']);
	}
}

/** Everything but the work itself, in this process. */
async function measureEngine() {
	const {createJob, runJob} = await import('../dist/jobs/index.js');
	const {Environment} = await import('../dist/index.js');
	const startedAt = performance.now();
	const samples = [];
	const timer = setInterval(() => samples.push(Math.round(process.memoryUsage.rss() / 1024 / 1024)), SAMPLE_MS);
	const store = await createJob({
		input,
		output: join(directory, 'out.csv'),
		jobsDirectory: join(directory, 'jobs'),
		rules: {maxConcurrency: width},
	});
	const createdAt = performance.now();
	const environment = Environment.local();
	const worker = {
		async run(attempt) {
			await attempt.report({n: attempt.rowIndex});
			return {kind: 'reported'};
		},
	};
	const summary = await runJob({store, worker, executors: [{name: 'local', environment, slots: width}]});
	clearInterval(timer);
	const {syncs} = store;
	await store.close();
	await environment.close();
	const {user, system} = process.cpuUsage();
	const seconds = (performance.now() - startedAt) / 1000;
	console.log(
		JSON.stringify({
			name: 'engine',
			status: summary.status,
			completed: summary.completed_items,
			rows,
			width,
			seconds: round(seconds),
			create_seconds: round((createdAt - startedAt) / 1000),
			rows_per_second: Math.round(rows / seconds),
			cpu_ms_per_row: round((user + system) / 1000 / rows),
			syncs,
			rss_mib: summarizeMemory(samples),
		}),
	);
}

/** CPU of the program and everything it started, and the memory of the program itself while it ran. */
async function measure(name, program, args) {
	const startedAt = performance.now();
	const timed = spawn('/usr/bin/env', ['bash', '-c', 'time -p "$@" >/dev/null', 'x', program, ...args], {
		env,
		stdio: ['ignore', 'ignore', 'pipe'],
	});
	let stderr = '';
	timed.stderr.on('data', chunk => (stderr += chunk));
	const samples = [];
	const timer = setInterval(() => {
		const rss = rssOfChild(timed.pid);
		if (rss) samples.push(rss);
	}, SAMPLE_MS);
	const code = await new Promise(resolve => timed.on('close', resolve));
	clearInterval(timer);
	const seconds = (performance.now() - startedAt) / 1000;
	const [user, system] = ['user', 'sys'].map(word => Number(new RegExp(`${word} ([\\d.]+)`).exec(stderr)?.[1]));
	console.log(
		JSON.stringify({
			name,
			code,
			rows,
			width,
			seconds: round(seconds),
			rows_per_second: Math.round(rows / seconds),
			cpu_ms_per_row: round((1000 * (user + system)) / rows),
			rss_mib: samples.length > 0 ? summarizeMemory(samples) : undefined,
		}),
	);
}

/** Medians of the quarters of the run: memory that grows with the rows shows as a slope. */
function summarizeMemory(samples) {
	const quarters = [0, 1, 2, 3].map(quarter => {
		const part = samples.slice((quarter * samples.length) >> 2, ((quarter + 1) * samples.length) >> 2);
		return part.sort((one, other) => one - other)[part.length >> 1];
	});
	return {quarters, last: samples.at(-1), most: Math.max(...samples)};
}

function rssOfChild(pid) {
	try {
		const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
		const pages = Number(readFileSync(`/proc/${child}/statm`, 'utf8').split(' ')[1]);
		return Math.round((pages * 4096) / 1024 / 1024);
	} catch {
		return undefined;
	}
}

function round(value) {
	return Math.round(100 * value) / 100;
}
