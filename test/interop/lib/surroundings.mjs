import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {Child, until} from './child.mjs';

const SANDBOX_TRIAL_MS = 60_000;
const SANDBOX_TRIAL =
	'--unshare-user --unshare-pid --unshare-net --ro-bind / / --dev /dev --proc /proc -- /bin/sh -c :';
/** Settings of the caller that would reach the peers or the shells below them. */
const FOREIGN_VARIABLES = /^(?:CODEX_.*|OPENAI_.*|BASH_ENV|ENV|(?:https?|all|no)_proxy)$/i;

/** A folder for everything a run writes: homes, temporary folders, working folders. */
export class Scratch {
	constructor(parent = os.tmpdir()) {
		this.root = fs.realpathSync(fs.mkdtempSync(path.join(parent, 'longarm-e2e-')));
	}

	folder(...parts) {
		const folder = path.join(this.root, ...parts);
		fs.mkdirSync(folder, {recursive: true});
		return folder;
	}

	remove() {
		fs.rmSync(this.root, {recursive: true, force: true, maxRetries: 3});
	}
}

/** The caller's variables without its home, its login profile and what configures the peers. */
export function variablesFor({home, codexHome, temporary, side}) {
	const kept = Object.entries(process.env).filter(([name]) => !FOREIGN_VARIABLES.test(name));
	return {
		...Object.fromEntries(kept),
		HOME: home,
		CODEX_HOME: codexHome,
		// The stock program makes no helper links below the temporary folder of the system.
		TMPDIR: temporary,
		E2E_SIDE: side,
	};
}

/** Variables of the server under test, with folders of its own. */
export function serverVariables(scratch) {
	const variables = variablesFor({
		home: scratch.folder('server', 'home'),
		codexHome: scratch.folder('server', 'codex-home'),
		temporary: scratch.folder('server', 'tmp'),
		side: 'server',
	});
	return {...variables, E2E_TOKEN: 'server-token'};
}

/** Starts a command that prints its ws:// address on stdout or stderr. */
export async function startServer(command, scratch) {
	const child = new Child('/bin/sh', ['-c', command], {env: serverVariables(scratch)});
	const address = () => /wss?:\/\/[^\s"'`,]+/.exec(`${child.stdout}\n${child.stderr}`)?.[0];
	const endedEarly = child.exited.then(status => {
		throw new Error(`server ended early (${status}): ${child.stderr.slice(-400)}`);
	});
	try {
		return {child, url: await Promise.race([until('a ws:// address from the server', address), endedEarly])};
	} catch (error) {
		await child.stop();
		throw error;
	}
}

/** Why commands cannot be run in a sandbox on this machine; undefined if they can. */
export function sandboxObstacle() {
	const {status, error, stderr} = spawnSync('bwrap', SANDBOX_TRIAL.split(' '), {
		stdio: ['ignore', 'ignore', 'pipe'],
		encoding: 'utf8',
		timeout: SANDBOX_TRIAL_MS,
	});
	if (status === 0) return undefined;
	if (error?.code === 'ENOENT') return 'bubblewrap is not installed';
	return `bubblewrap cannot make a sandbox here: ${error?.message ?? (stderr.trim() || `it ended with ${status}`)}`;
}
