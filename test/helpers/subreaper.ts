import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {chmodSync, existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {WATCHDOG_NAME} from '../../src/processes/backends/linux/watchdog-script.js';
import {listChildren} from '../../src/processes/tree/process-tree.js';
import {Command, PROGRAM} from './command.js';
import {isInstalled, isRoot} from './needs.js';
import {joined} from './process-api.js';
import {eventually, isAlive} from './processes.js';
import {scratchDirectory} from './scratch.js';
import type {TestClient} from './test-client.js';

/**
 * Prints the pids of a process tree: the script, a child, and two branches, one in a new session and one daemonised by a
 * double fork. Each branch is a process with a child and a daemonised grandchild.
 */
export const FAMILY = `
	branch='echo $$; sleep 1000 & echo $!; setsid -f sh -c "echo \\$\\$; exec sleep 1000"; wait'
	echo $$
	sleep 1000 & echo $!
	setsid sh -c "$branch" &
	setsid -f sh -c "$branch"
	wait
`;
export const FAMILY_SIZE = 8;

/** Prints its pid and outlives the process that started it. */
export const DAEMON = `setsid -f sh -c 'echo $$; exec sleep 1000 > /dev/null 2>&1'`;

/** Starts the built command, which is a subreaper, and connects a client. */
export async function serveAsSubreaper(
	...settings: string[]
): Promise<{command: Command; client: TestClient; url: string}> {
	const command = new Command(['serve', '--log-level', 'silent', ...settings]);
	const url = await command.url();
	return {command, client: await joined(url), url};
}

/** User without an account and without other processes. */
export const OTHER_USER = '64731';
/** Put in front of a command so that it runs without privileges. */
export const UNPRIVILEGED: readonly string[] = isRoot
	? ['setpriv', `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, '--clear-groups', '--inh-caps=-all']
	: [];

/** The same for a user without privileges. */
export async function serveUnprivileged(...settings: string[]): Promise<{command: Command; client: TestClient}> {
	const command = new Command(['serve', '--log-level', 'silent', ...settings], {via: UNPRIVILEGED, env: {HOME: '/'}});
	return {command, client: await joined(await command.url())};
}

/** Runs a program as the user of `serveUnprivileged` and returns its exit code. */
export function runUnprivileged(...argv: string[]): number | null {
	const [file, ...rest] = [...UNPRIVILEGED, ...argv];
	return spawnSync(file!, rest).status;
}

/** Why `serveUnprivileged` cannot be used; undefined if it can. */
export function noUnprivilegedServer(): string | undefined {
	if (!isRoot) return undefined;
	if (!isInstalled('setpriv')) return 'setpriv is not installed';
	const status = runUnprivileged(process.execPath, '-e', `fs.accessSync('${PROGRAM}')`);
	return status === 0 ? undefined : 'the built command is out of reach for other users';
}

/** Takes the marks off that descendants are recognised by where that is allowed, and lowers them elsewhere. */
export const UNMARK = `{
	prlimit --pid $$ --rttime=unlimited:unlimited --locks=unlimited:unlimited ||
		prlimit --pid $$ --rttime=7:7 --locks=7:7
} 2> /dev/null`;

/** A named pipe that tells when the last process is gone that has it open for writing: its opener and what it left. */
export function createLifeline(): {path: string; released: Promise<unknown>} {
	const directory = scratchDirectory();
	const path = join(directory, 'lifeline');
	spawnSync('mkfifo', [path]);
	chmodSync(directory, 0o755);
	chmodSync(path, 0o666);
	const reader = spawn('cat', [path], {stdio: 'ignore'});
	onTestFinished(() => void reader.kill('SIGKILL'));
	return {path, released: once(reader, 'exit')};
}

/** Starts a process that no server knows; killed at the end of the test. */
export function spawnUnrelated(): number {
	const child = spawn('sleep', ['1000'], {stdio: 'ignore', detached: true});
	onTestFinished(() => void child.kill('SIGKILL'));
	return child.pid!;
}

/** Finds the watchdog process of a server. */
export function findWatchdog(server: number): Promise<number> {
	return eventually(() => listChildren(server).find(pid => commandLine(pid).includes(WATCHDOG_NAME)));
}

/** Living processes that were started with this text as one of their arguments. */
export function listRunningWith(argument: string): number[] {
	return readdirSync('/proc')
		.filter(name => /^\d+$/.test(name))
		.map(Number)
		.filter(pid => commandLine(pid).includes(argument) && isAlive(pid));
}

/** True when the process is not stopped and its group is the foreground group of its terminal. */
export function isInForeground(pid: number): boolean {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
		const [state, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
		return state !== 'T' && group === foreground;
	} catch {
		return false;
	}
}

/** Waits until not even a zombie is left. */
export async function untilReaped(...pids: number[]): Promise<void> {
	for (const pid of pids) await eventually(() => !existsSync(`/proc/${pid}`));
}

function commandLine(pid: number): string[] {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
	} catch {
		return [];
	}
}
