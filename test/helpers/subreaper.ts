import {spawn} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {onTestFinished} from 'vitest';
import {listChildren} from '../../src/processes/tree/process-tree.js';
import {Command} from './command.js';
import {joined} from './process-api.js';
import {eventually, isAlive} from './processes.js';
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

/** Starts a process that no server knows; killed at the end of the test. */
export function spawnUnrelated(): number {
	const child = spawn('sleep', ['1000'], {stdio: 'ignore', detached: true});
	onTestFinished(() => void child.kill('SIGKILL'));
	return child.pid!;
}

/** Finds the watchdog process of a server. */
export function findWatchdog(server: number): Promise<number> {
	return eventually(() => listChildren(server).find(pid => commandLine(pid).includes('longarm-watchdog')));
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
