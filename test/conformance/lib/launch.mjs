// Starting the server under test, in an environment that does not depend on the user who runs the suite.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {setTimeout as sleep} from 'node:timers/promises';

const MAX_START_MS = 60_000;
const MAX_STOP_MS = 5_000;
const MAX_QUOTED_CHARACTERS = 4_000;

/** Variables of every server under test; the env and http groups look for these. */
export const SERVER_ENV = {
	CONF_PLAIN: 'plain value',
	CONF_API_KEY: 'key',
	CONF_SECRET: 'secret',
	CONF_TOKEN: 'token',
	conf_lower_token: 'lower',
	CONF_EMPTY: '',
	NODE_REPL_AUTH_TOKEN: 'repl',
	LC_ALL: 'C',
};

/** Personal settings: proxies, start-up files of shells, configuration of the servers; and names the tests look for. */
const PERSONAL = /^(.*_proxy|xdg_.*|env|bash_env|codex_(home|exec_server_.*)|longarm_.*|conf_.*)$/i;

/** The caller's variables without what is personal, with a home directory that is empty. */
export function serverEnvironment(home) {
	const kept = Object.entries(process.env).filter(([name]) => !PERSONAL.test(name));
	return {...Object.fromEntries(kept), HOME: home, SHELL: '/bin/sh', ...SERVER_ENV};
}

/** Starts a shell command in a process group of its own; `stop()` ends the whole group. */
export function launch(command, env, stdin = 'ignore') {
	const child = spawn('/bin/sh', ['-c', command], {detached: true, env, stdio: [stdin, 'pipe', 'pipe']});
	child.exited = once(child, 'close').then(([code, signal]) => ({code, signal}));
	child.stop = async () => {
		signalGroup(child.pid, 'SIGTERM');
		await Promise.race([child.exited, sleep(MAX_STOP_MS, undefined, {ref: false})]);
		signalGroup(child.pid, 'SIGKILL');
	};
	return child;
}

/** Starts a WebSocket server; resolves to {url, child} once a ws:// URL with a port shows up in its output. */
export async function launchServer(command, env) {
	const child = launch(command, env);
	const startup = new AbortController();
	let output = '';
	const url = new Promise(resolve => {
		const read = text => {
			output = (output + text).slice(-MAX_QUOTED_CHARACTERS);
			const found = /wss?:\/\/[^\s"'`]*:\d+[^\s"'`]*(?=\s)/.exec(output);
			if (found) resolve({url: found[0]});
		};
		child.stdout.setEncoding('utf8').on('data', read);
		child.stderr.setEncoding('utf8').on('data', read);
	});
	const exit = child.exited.then(({code}) => ({failure: `the server exited with code ${code}`}));
	const expiry = sleep(MAX_START_MS, {failure: `the server printed no ws:// URL within ${MAX_START_MS} ms`}, startup);
	// Cancelled below, when the race is over.
	expiry.catch(() => {});
	const outcome = await Promise.race([url, exit, expiry]);
	startup.abort();
	if (outcome.url) return {url: outcome.url, child};
	await child.stop();
	throw new Error(`${outcome.failure}; its output was: ${output.trim() || '(nothing)'}`);
}

function signalGroup(pid, name) {
	try {
		process.kill(-pid, name);
	} catch {
		// The group is already gone.
	}
}
