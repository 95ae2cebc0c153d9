#!/usr/bin/env node
// Side-by-side benchmark of exec servers. See README.md.
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import {join, resolve} from 'node:path';
import {scratchFolder} from '../../scripts/lib/scratch-folder.mjs';
import {Comparison} from './lib/comparison.mjs';
import {readOptions} from './lib/options.mjs';
import {render} from './lib/report.mjs';

const options = readOptions();
const scratch = options.scratch ? resolve(options.scratch) : scratchFolder('compare');
const home = join(scratch, 'home');
mkdirSync(home, {recursive: true});
const environment = {...process.env, HOME: home, CODEX_HOME: home};
const comparison = new Comparison(options, {scratch, environment});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void giveUp());

const machine = describeMachine();
const began = performance.now();
const results = await comparison.run();
const report = {
	machine,
	options: {quick: options.isQuick, reps: options.repetitions, sizes: options.sizes},
	servers: options.servers,
	results,
	...(options.floors && {floors: JSON.parse(readFileSync(options.floors, 'utf8'))}),
	seconds: (performance.now() - began) / 1000,
};
const table = render(report);
process.stdout.write(table);
if (options.json) writeFileSync(options.json, JSON.stringify(report, null, 1));
if (options.markdown) writeFileSync(options.markdown, table);

async function giveUp() {
	await comparison.stop();
	process.exit(130);
}

function describeMachine() {
	const processors = os.cpus();
	return {
		cpu: processors[0]?.model.trim(),
		cores: processors.length,
		memGiB: Math.round(os.totalmem() / 2 ** 30),
		kernel: os.release(),
		platform: `${os.platform()}/${os.arch()}`,
		node: process.version,
		load: os.loadavg().map(load => Number(load.toFixed(2))),
		date: new Date().toISOString(),
	};
}
