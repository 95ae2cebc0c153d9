// Whether the tests would notice: changes one place of the source at a time and runs the tests that reach it.
//   node bench/mutants.mjs [--count 200] [--seed 1] [--only src/rpc,src/network] [--out FILE] [--resume FILE]
import {existsSync, readFileSync, renameSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {readOptions} from './lib/options.mjs';
import {inParallel} from './lib/waiting.mjs';
import {takeBaseline} from './mutants/baseline.mjs';
import {choosePlaces} from './mutants/choose.mjs';
import {filesUnder, ImportGraph} from './mutants/import-graph.mjs';
import {placesOf} from './mutants/places.mjs';
import {printTable} from './mutants/table.mjs';
import {allBuiltTests, testBuiltMutant, testMutant} from './mutants/test-mutant.mjs';
import {Tree, versionOf} from './mutants/tree.mjs';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
/** A file belongs to the last of these it is under. */
const MODULES =
	'protocol rpc transports processes filesystem network sandbox adapters client server server/auth environments agent-tools'.split(
		' ',
	);
/** Tests of whole programs: they reach everything, late and mostly in other processes. */
const IS_FAR = /^test\/((cli|browser|mcp|walk)\/|[^/]+$)/;

const options = readOptions('Changes one place of the source at a time and runs the tests that reach it.', {
	count: {default: 200, help: 'places to change'},
	seed: {default: 1, help: 'which places'},
	only: {default: '', help: 'folders or files to choose from, with commas'},
	out: {default: join(tmpdir(), 'longarm-mutants.json'), help: 'where results are written, after each place'},
	resume: {default: '', help: 'goes on with the results of this file'},
	again: {default: '', help: 'with --resume: tries places with this status once more, survived for example'},
	maxTests: {default: 16, help: 'test files to try for a place'},
	maxSeconds: {default: 60, help: 'time their tests take unchanged, of which the first are tried in any case'},
	skip: {default: '', help: 'test files not to ask, with commas: those that fail now and then'},
	built: {default: 1, help: '0 leaves out the tests of the built command for what survived'},
	workers: {default: 1, help: 'places at a time, each in a tree of its own'},
});

const out = options.resume || options.out;
const results = options.resume ? JSON.parse(readFileSync(options.resume, 'utf8')) : begin();
const trees = Array.from({length: options.workers}, () => new Tree(PACKAGE));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const graph = new ImportGraph(PACKAGE);
const hops = new Map(graph.tests.map(test => [test, graph.hopsFrom(test)]));
const {places, baseline} = results;
for (const place of places) if (place.status === options.again) place.status = 'pending';
await prepare(trees[0]);
const context = {baseline, hops, maxTests: options.maxTests, maxMs: options.maxSeconds * 1000};
await tryAll(interleaved(places.filter(({status}) => status === 'pending')), testMutant);
if (options.built === 1)
	await tryAll(
		places.filter(({status, built}) => status === 'survived' && built === undefined),
		testBuiltMutant,
	);
printTable(results);
process.exit(0);

function begin() {
	const only = options.only.split(',').filter(Boolean);
	const isWanted = file => only.length === 0 || only.some(prefix => file.startsWith(prefix));
	const byModule = {};
	for (const path of filesUnder(join(PACKAGE, 'src'), '.ts')) {
		const file = relative(PACKAGE, path);
		const module = MODULES.findLast(name => file.startsWith(`src/${name}/`));
		if (module === undefined || !isWanted(file)) continue;
		byModule[module] = [...(byModule[module] ?? []), ...placesOf(file, readFileSync(path, 'utf8'))];
	}
	const chosen = choosePlaces(byModule, options);
	return {
		version: versionOf(PACKAGE),
		seed: options.seed,
		baseline: {},
		places: chosen.map((place, id) => ({id, ...place, status: 'pending'})),
	};
}

async function prepare(tree) {
	if (!existsSync(join(tree.path, 'dist')) && !(await tree.build())) throw new Error('the source cannot be built');
	const files = new Set(places.map(({file}) => file));
	const reaches = test => !IS_FAR.test(test) && [...hops.get(test).keys()].some(file => files.has(file));
	const skipped = options.skip.split(',');
	for (const test of Object.keys(baseline))
		if (skipped.includes(test) || !graph.tests.includes(test)) delete baseline[test];
	const asked = graph.tests.filter(test => !skipped.includes(test));
	const tests = asked.filter(test => reaches(test) || (options.built === 1 && allBuiltTests.includes(test)));
	await takeBaseline(tree, tests, places, baseline, save);
	for (const [test, {passed, failure}] of Object.entries(baseline))
		if (!passed) console.error(`left out, fails unchanged: ${test}: ${failure?.message?.slice(0, 200)}`);
}

/** The modules in turn: a run that is ended early says something about each. */
function interleaved(some) {
	const rank = new Map();
	for (const {module, id} of some) {
		const own = some.filter(place => place.module === module);
		rank.set(id, own.findIndex(place => place.id === id) / own.length);
	}
	return [...some].sort((a, b) => rank.get(a.id) - rank.get(b.id));
}

async function tryAll(some, ask) {
	let done = 0;
	const free = [...trees];
	await inParallel(some.length, trees.length, async index => {
		const [tree, place] = [free.pop(), some[index]];
		const startedAt = performance.now();
		Object.assign(place, await ask(tree, place, context));
		place.seconds = Math.round((place.seconds ?? 0) + (performance.now() - startedAt) / 1000);
		free.push(tree);
		save();
		console.error(`${++done}/${some.length} ${describe(place)}`);
	});
}

function describe({status, file, line, operator, seconds, tried, reaching, by}) {
	const how = by ? ` by ${by.test}` : ` (${tried.length} of ${reaching} test files)`;
	return `${status} ${file}:${line} ${operator}, ${seconds} s${how}`;
}

function save() {
	writeFileSync(`${out}.new`, `${JSON.stringify(results, null, '\t')}\n`);
	renameSync(`${out}.new`, out);
}
