// Kills the runner of a fan-out job at random points and resumes it, again and again: every row has to be completed exactly
// once. node bench/fanout-kills.mjs [--kills 50] [--rows 200] [--remote]

import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {readOptions} from './lib/options.mjs';

const PROGRAM = fileURLToPath(new URL('../dist/bin/longarm.js', import.meta.url));
const {
	kills,
	rows,
	remote: isRemote,
} = readOptions('Kills the runner of a fan-out job again and again, and resumes it.', {
	kills: {default: 50, help: 'kills at random moments'},
	rows: {default: 200, help: 'rows of the job'},
	remote: {default: false, help: 'commands run on a server instead of here'},
});
/** Longest time a runner lives before it is killed. */
const MAX_LIFE_MS = 1200;

const directory = mkdtempSync(join(tmpdir(), 'longarm-kills-'));
const input = join(directory, 'in.csv');
const output = join(directory, 'out.csv');
const jobs = join(directory, 'jobs');
writeFileSync(input, `n\n${Array.from({length: rows}, (_, index) => `${index}\n`).join('')}`);
const server = isRemote ? await startServer() : undefined;
const env = {PATH: process.env.PATH, HOME: directory, LONGARM_HOME: directory};
// Each start leaves a line: completed rows must not be started again.
const log = join(directory, 'starts');
const line = `echo {n} >> ${log}; sleep 0.05; echo '{{"n": {n}}}'`;
const start = ['fanout', input, '--cmd', line, '--output', output, '--job-dir', jobs, '--max-concurrency', '8'];
if (server) start.push('--executor', `there=${server.url}`);

let killed = 0;
let runs = 0;
try {
	for (let args = start; ; args = ['fanout', 'resume', jobId(), '--job-dir', jobs]) {
		runs++;
		const runner = spawn(process.execPath, [PROGRAM, ...args], {env, stdio: ['ignore', 'pipe', 'pipe']});
		let stderr = '';
		for (const stream of [runner.stdout, runner.stderr]) stream.on('data', chunk => (stderr += chunk));
		const ended = new Promise(resolve => runner.on('close', (code, signal) => resolve({code, signal})));
		if (killed < kills) {
			while (listJobs().length === 0) await pause(10);
			await pause(Math.random() * MAX_LIFE_MS);
			runner.kill('SIGKILL');
		}
		const {code, signal} = await ended;
		if (signal === 'SIGKILL') killed++;
		else if (code === 0) break;
		else throw new Error(`the runner ended with ${code}: ${stderr}`);
	}
	check();
} finally {
	server?.child.kill();
	rmSync(directory, {recursive: true, force: true});
}

/** A job exists as soon as its directory has its final name. */
function listJobs() {
	return existsSync(jobs) ? readdirSync(jobs).filter(name => !name.includes('.')) : [];
}

function jobId() {
	return listJobs()[0];
}

function pause(ms) {
	return new Promise(resolve => setTimeout(resolve, ms));
}

function check() {
	const journal = readFileSync(join(jobs, jobId(), 'journal.jsonl'), 'utf8')
		.trimEnd()
		.split('\n')
		.map(JSON.parse);
	const completed = journal.filter(({type}) => type === 'report').map(({item}) => item);
	const claims = journal.filter(({type}) => type === 'claim').length;
	const lines = readFileSync(output, 'utf8').trimEnd().split('\n').slice(1);
	const wrong = lines.filter(
		(text, n) => !text.includes(',completed,') || !text.includes(`{""n"": ${n}}`.replace(' ', '')),
	);
	const isRight =
		completed.length === rows && new Set(completed).size === rows && lines.length === rows && wrong.length === 0;
	const started = readFileSync(log, 'utf8').trimEnd().split('\n').length;
	console.log(
		JSON.stringify({
			where: isRemote ? 'server' : 'local',
			kills: killed,
			runs,
			rows,
			completed: completed.length,
			distinct: new Set(completed).size,
			claims,
			started,
			right: isRight,
		}),
	);
	if (!isRight) process.exitCode = 1;
}

async function startServer() {
	const child = spawn(
		process.execPath,
		[PROGRAM, 'serve', '--listen', 'ws://127.0.0.1:0', '--state', join(directory, 'state')],
		{
			stdio: ['ignore', 'pipe', 'pipe'],
		},
	);
	const url = await new Promise(resolve => {
		let text = '';
		const look = chunk => {
			text += chunk;
			const found = /ws:\/\/[\d.:]+/.exec(text);
			if (found) resolve(found[0]);
		};
		child.stdout.on('data', look);
		child.stderr.on('data', look);
	});
	return {child, url};
}
