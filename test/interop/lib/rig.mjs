import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {scrubber} from './recorder.mjs';
import {Scenario} from './scenario.mjs';

/** Ends a scenario that waits for something that never comes; none needs a tenth of it. */
const MAX_SCENARIO_MS = 180_000;
const FOLDER = path.dirname(fileURLToPath(import.meta.url));

/** Runs scenarios, one after the other, with one server and one model endpoint. */
export class Rig {
	/** `{codexBin, serverUrl, stdioCommand, scratch, model, transcripts, token}` */
	constructor(settings) {
		Object.assign(this, settings);
		this.scrub = scrubber([
			[this.scratch.root, '/SCRATCH'],
			[path.dirname(FOLDER), '/RIG'],
			[process.cwd(), '/CWD'],
			[installationOf(this.codexBin), '/CODEX'],
			[process.execPath, '/NODE/node'],
			[`"${os.hostname()}"`, '"HOST"'],
		]);
	}

	/** Runs one scenario; the result has a reason only if it failed. */
	async run(definition) {
		const started = Date.now();
		const scenario = new Scenario(this, definition);
		let reason;
		try {
			await withinLimit(play(scenario, definition));
		} catch (error) {
			reason = scenario.scriptError ?? error.message;
		} finally {
			await scenario.tearDown();
		}
		const status = reason === undefined ? 'passed' : 'failed';
		return {name: definition.name, status, reason, ms: Date.now() - started, scenario};
	}
}

async function play(scenario, definition) {
	await scenario.setUp();
	await definition.run(scenario);
}

async function withinLimit(work) {
	let timer;
	const limit = new Promise((_resolve, reject) => {
		timer = setTimeout(() => reject(new Error(`no result after ${MAX_SCENARIO_MS} ms`)), MAX_SCENARIO_MS);
	});
	try {
		await Promise.race([work, limit]);
	} finally {
		clearTimeout(timer);
	}
}

/** The folder npm has installed a program in, else the one it lies in. */
function installationOf(program) {
	const file = fs.realpathSync(program);
	const at = file.lastIndexOf('/node_modules/');
	return at < 0 ? path.dirname(file) : file.slice(0, at);
}
