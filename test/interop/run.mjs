#!/usr/bin/env node
// Runs the stock codex client against an exec server and reports per scenario.
import fs from 'node:fs';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {InteropHub} from './lib/hub.mjs';
import {ModelServer} from './lib/model.mjs';
import {Rig} from './lib/rig.mjs';
import {SCENARIOS} from './lib/scenarios/index.mjs';
import {Scratch, sandboxObstacle, startServer} from './lib/surroundings.mjs';

const USAGE = `usage: node run.mjs [--url ws://HOST:PORT | --server-cmd "CMD"] [--stdio-cmd "CMD"] [--token TOKEN] [--hub DIST [--nodes] [--stock-forward [--forward-bin CODEX] | --remote-cmd "CMD"]]
                    [--only NAME,...] [--skip NAME,...] [--no-sandbox | --own-sandbox] [--transcripts DIR] [--json FILE]
                    [--scratch DIR] [--keep] [--verbose] [--list]
  CODEX_BIN     the stock codex binary (client; also the server when neither --url nor --server-cmd is given)`;
const USAGE_STATUS = 2;
const INTERRUPTED_STATUS = 130;

const {values: flags} = parseArgs({
	options: {
		url: {type: 'string'},
		'server-cmd': {type: 'string'},
		'stdio-cmd': {type: 'string'},
		token: {type: 'string'},
		hub: {type: 'string'},
		nodes: {type: 'boolean'},
		'stock-forward': {type: 'boolean'},
		'forward-bin': {type: 'string'},
		'remote-cmd': {type: 'string'},
		only: {type: 'string'},
		skip: {type: 'string'},
		transcripts: {type: 'string'},
		json: {type: 'string'},
		scratch: {type: 'string'},
		keep: {type: 'boolean'},
		verbose: {type: 'boolean'},
		'no-sandbox': {type: 'boolean'},
		'own-sandbox': {type: 'boolean'},
		list: {type: 'boolean'},
		help: {type: 'boolean'},
	},
});
if (flags.help) {
	console.log(USAGE);
	process.exit(0);
}
if (flags.list) {
	for (const {name, title} of SCENARIOS) console.log(`${name}  ${title}`);
	process.exit(0);
}
if (!process.env.CODEX_BIN) {
	console.error(`CODEX_BIN is not set\n${USAGE}`);
	process.exit(USAGE_STATUS);
}
for (const name of ['remote-cmd', 'nodes']) {
	if (!flags[name] || flags.hub) continue;
	console.error(`--${name} needs --hub\n${USAGE}`);
	process.exit(USAGE_STATUS);
}

const codexBin = path.resolve(process.env.CODEX_BIN);
const scratch = new Scratch(flags.scratch);
const model = await new ModelServer().start();
const results = [];
let server;
let hub;
for (const name of ['SIGINT', 'SIGTERM']) {
	process.once(name, () => void cleanUp().finally(() => process.exit(INTERRUPTED_STATUS)));
}

try {
	await runScenarios();
} catch (error) {
	report({name: 'rig', status: 'failed', reason: error.message, ms: 0});
} finally {
	await cleanUp();
}
if (flags.json) fs.writeFileSync(flags.json, `${JSON.stringify({results})}\n`);
const counts = ['passed', 'failed', 'skipped'].map(status => [count(status), status]);
console.log(
	counts
		.filter(([number, status]) => number > 0 || status !== 'skipped')
		.map(counted => counted.join(' '))
		.join(', '),
);
process.exit(count('failed') > 0 ? 1 : 0);

async function runScenarios() {
	const remote = flags['remote-cmd'];
	const isPossible = ({needsHub, needsNodes}) => (!needsHub || remote) && (!needsNodes || (remote && flags.nodes));
	const possible = SCENARIOS.filter(isPossible);
	const listed = possible.filter(({name}) => !flags.only || isNamed(name, flags.only));
	if (listed.length === 0) throw new Error(`no scenario is called ${flags.only}`);
	const isStockServer = !flags.url && !flags['server-cmd'];
	const command = flags['server-cmd'] ?? `exec "${codexBin}" exec-server --listen ws://127.0.0.1:0`;
	if (!flags.url && !remote) server = await startServer(command, scratch);
	if (flags.transcripts) fs.mkdirSync(flags.transcripts, {recursive: true});
	if (flags.hub) {
		hub = new InteropHub(path.resolve(flags.hub), scratch.folder('hub'), {hasNodes: flags.nodes});
		await hub.start();
	}
	if (remote) await hub.serve(remote, scratch);
	const stdioCommand = isStockServer ? `exec "${codexBin}" exec-server --listen stdio` : undefined;
	const rig = new Rig({
		hub,
		stockForward: flags['stock-forward'] ? (flags['forward-bin'] ?? codexBin) : undefined,
		codexBin,
		serverUrl: flags.url ?? server?.url,
		stdioCommand: flags['stdio-cmd'] ?? (remote ? hub.bridgeCommand : stdioCommand),
		scratch,
		model,
		transcripts: flags.transcripts && path.resolve(flags.transcripts),
		token: remote ? hub.clientToken : flags.token,
	});
	const needsBubblewrap = !flags['own-sandbox'] && listed.some(({needsSandbox}) => needsSandbox);
	const obstacle = needsBubblewrap ? sandboxObstacle() : undefined;
	for (const definition of listed) {
		const whySkipped = skipReason(definition, rig, obstacle);
		if (whySkipped) report({name: definition.name, status: 'skipped', reason: whySkipped, ms: 0});
		else report(await rig.run(definition));
	}
}

function skipReason({name, needsSandbox, needsServerHome, isStdio, rewrite}, {stdioCommand}, obstacle) {
	if (flags.skip && isNamed(name, flags.skip)) return 'asked to';
	if (needsSandbox && flags['no-sandbox']) return 'sandbox scenarios are switched off';
	if (needsSandbox && obstacle) return obstacle;
	if (needsServerHome && flags.url) return 'the home of the server is not known';
	if (rewrite && flags.hub) return 'messages behind a hub are encrypted';
	return isStdio && !stdioCommand ? 'no --stdio-cmd given' : undefined;
}

/** A scenario goes by its name, and by the part of it before the first dash. */
function isNamed(name, list) {
	return list.split(',').some(asked => name === asked || name.startsWith(`${asked}-`));
}

function report({name, status, reason, ms, scenario}) {
	results.push({name, status, reason, ms});
	const notes = scenario?.notes.length ? ` (${scenario.notes.join('; ')})` : '';
	if (status === 'passed') console.log(`PASS ${name} ${ms} ms${notes}`);
	else if (status === 'failed') console.log(`FAIL ${name} ${ms} ms: ${reason}${notes}`);
	else console.log(`SKIP ${name}: ${reason}`);
	if (flags.verbose && scenario) console.log(scenario.clientStderr);
}

function count(status) {
	return results.filter(result => result.status === status).length;
}

async function cleanUp() {
	await hub?.stop();
	await server?.child.stop();
	await model.stop();
	if (flags.keep) console.log(`kept ${scratch.root}`);
	else scratch.remove();
}
